"""The consistency check against report R1: what is fitted fits, what is held out is computed, and the words follow."""

from __future__ import annotations

import json

import numpy as np
import pytest

from experiments.capacity import r1_facts as facts
from experiments.capacity import r1_network
from experiments.capacity.network import limit
from experiments.capacity.r1 import consistency
from experiments.capacity.r1_checks import distance, figures, passes
from experiments.capacity.r1_fit import WITHIN, errors, fit_rows
from experiments.capacity.r1_fluid import run
from experiments.capacity.r1_network import network
from experiments.capacity.r1_search import Aim, Effort, search
from experiments.capacity.r1_sets import BOXES, NAMES, Sets, demands, draw, parts, within
from experiments.capacity.r1_text import verdict
from experiments.capacity.simulation import simulate

# A set worked out by hand from the report: discovery is the filer's, extraction the database's, indexing the processors'.
HAND = {
    "latency_ms": 1.3,
    "ops_extraction": 3.4,
    "ops_indexing": 0.7,
    "metadata_discovery": 0.43,
    "metadata_extraction": 0.83,
    "metadata_indexing": 0.7,
    "database_main": 0.97,
    "database_rest": 0.5,
    "processor_main": 0.97,
    "processor_rest": 0.5,
    "second_database": 0.8,
    "shared_crew": 1.0,
}


def _by_hand(**changes: float) -> Sets:
    return Sets(np.array([[{**HAND, **changes}[name] for name in NAMES]]), np.array([[62.0, 3.1, 52.0]]))


def test_the_published_figures_are_the_reports() -> None:
    """Elapsed times in seconds, and the rates that follow from them."""
    assert [row.elapsed_s for row in facts.ROWS] == [23_095, 17_136, 22_934]
    assert [round(row.gb_per_hour, 2) for row in facts.ROWS] == [11.69, 15.76, 23.55]


def test_boxes_are_covered_and_can_be_gone_back_to() -> None:
    """Latin hypercube: each tenth of each box has a tenth of the sets; `parts` undoes `within`."""
    shape = draw(200, 1)
    places = parts(shape)
    for n, box in enumerate(BOXES):
        assert np.histogram(places[:, n], bins=10, range=(0, 1))[0].tolist() == [20] * 10
        assert np.allclose(within(box, places[:, n]), shape[:, n])


def test_work_is_shared_out_among_the_phases_and_none_is_lost() -> None:
    """Hours of database and processors are the fitted ones; the anchor's figures hold in discovery's mix."""
    asked = demands(_by_hand(), databases_on_filer=False)
    assert asked.database.sum() == pytest.approx(3.1 * 3600)
    assert asked.processors.sum() == pytest.approx(52 * 3600)
    seconds = asked.ops[0, 0] / facts.ANCHOR_OPS
    assert asked.fsa[0, 0] / seconds == pytest.approx(0.99)
    assert asked.fsb[0, 0] / seconds == pytest.approx(0.60)
    assert demands(_by_hand()).fsb.sum() > asked.fsb.sum()


@pytest.mark.parametrize(("row", "shared"), [*((row, 1.0) for row in facts.ROWS[:2]), (facts.ROWS[2], 0.0)])
def test_the_quick_analysis_agrees_with_the_simulation(row: facts.Row, shared: float) -> None:
    """Elapsed times within 3 %, and the same phases at the same limit: the fit stands on the quick one."""
    sets = _by_hand(shared_crew=shared)
    simulated = simulate(network(sets, 0, row.workers, row.databases), 1)
    timeline = run(sets, row.workers, row.databases)
    assert simulated.elapsed_s == pytest.approx(float(timeline.elapsed_s[0]), rel=0.03)
    last = timeline.stretches[-1]
    busy = {"fsa": float(last.fsa[0]), "processors": float(last.processors[0]), "sql": float(last.database.max())}
    assert simulated.phases[-1].limit == limit(busy, 1.0) == "processors"


def test_sets_that_fit_are_within_two_per_cent_of_every_row() -> None:
    """And spread over that region, not all in its middle."""
    fit = fit_rows(80, 3)
    off = errors(fit.sets, facts.ROWS)
    assert 5 <= len(fit.sets) < fit.drawn == 80
    assert np.abs(off).max() <= WITHIN
    assert np.abs(off).max() > WITHIN / 2


def test_the_set_worked_out_by_hand_passes_what_it_was_made_for() -> None:
    """Each check's figure, from a timeline whose steps are known."""
    found = figures(_by_hand())
    assert found["peak_30"][0] == pytest.approx(39.2, abs=0.3)
    assert found["plateau_1"][0] == pytest.approx(62e6 / 39.2e3 / 60, rel=0.03)
    assert found["plateau_2"][0] == pytest.approx(2 * found["plateau_1"][0], rel=0.05)
    assert found["fsa_26k"][0] == pytest.approx(99 * 26 / 39 * 0.83, rel=0.01)
    assert found["sql_later"][0] > 0
    assert all(passes(found)[name][0] for name in ("peak_10", "middle", "late", "fsb_end", "sql_falls"))


def test_a_slower_second_server_makes_the_third_row_longer() -> None:
    """The rows with one database do not know of it."""
    fast, slow = _by_hand(second_database=1.0), _by_hand(second_database=0.4)
    assert run(slow, 30, 2).elapsed_s[0] > 1.2 * run(fast, 30, 2).elapsed_s[0]
    assert run(slow, 30, 1).elapsed_s[0] == run(fast, 30, 1).elapsed_s[0]


def test_a_search_comes_closer_and_keeps_to_the_rows() -> None:
    """From sets that are far off, the best one found is much nearer to the checks, and still fits."""
    start = fit_rows(40, 1).sets
    start = start.only(distance(figures(start)) > 2)
    found = search(start, Aim(facts.ROWS, (0, 1, 2), facts.CHECKS), Effort(children=25, generations=3), seed=1)
    assert distance(figures(found))[0] < 0.95 * distance(figures(start)).min()
    assert np.abs(errors(found, facts.ROWS)).max() <= WITHIN


def test_the_report_says_pass_or_fail_of_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the parameters, the data points, the range of all sets, and the rivals; as JSON too."""
    monkeypatch.setattr(r1_network, "UNITS", 400)  # coarser batches, so that it is over soon
    small = consistency(Effort(draws=30, children=8, generations=1))
    data = json.loads(json.dumps(small.to_json(), allow_nan=False))
    lines = small.lines()
    assert data["data_points"] == {"fitted": 3, "anchored": 2, "held_out": 10}
    for check in facts.CHECKS:
        line = next(line for line in lines if line.strip().startswith(check.says))
        assert ("pass" in line) != ("FAIL" in line)
    for name in (*NAMES, "filer_ops", "database_h", "processor_h"):
        assert any(line.strip().startswith(name) for line in lines)
    assert data["rivals"]["amdahl"] == pytest.approx(26.84, abs=0.01)
    for row in data["elapsed_alone"]["rows"]:
        assert row["model_s"] == pytest.approx(row["elapsed_s"], rel=WITHIN)
    ranges = [p["elapsed_alone"] for p in data["predictions"] if (p["workers"], p["databases"]) == (30, 2)]
    assert [ranges[0][name] for name in ("least", "most")] == pytest.approx([facts.ROWS[2].gb_per_hour] * 2, rel=0.021)


@pytest.mark.parametrize(("median", "says"), [(23.0, "earns its"), (14.0, "does NOT earn its")])
def test_the_verdict_follows_from_the_figures(median: float, says: str) -> None:
    """It earns its parameters only where it is nearer to the third row than the better of the simple laws."""
    report = {
        "rivals": {"published": 23.55, "amdahl": 26.84, "straight_line": 25.41},
        "third_row": {"two_rows_and_timeline": {"sets": 1.0, "least": 5.0, "median": median, "most": 25.0}},
        "elapsed_alone": {"checks": [{"passed": True}, {"passed": False}]},
        "data_points": {"fitted": 3, "anchored": 2, "held_out": 10},
        "parameters": {"fitted": ["filer_ops"], "drawn": []},
        "everything": None,
    }
    lines = verdict(report)
    assert says in lines[0]
    assert any("1 of 2 checks" in line for line in lines)
