"""The table of a campaign, and the journal that it is made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaos.journal import Journal
from chaos.table import markdown, rows_of


def _run(number: int, *struck: tuple[str, str], lost: float = 1.0, resumes: int = 0, bad: str = "") -> dict[str, Any]:
    return {
        "number": number,
        "plan": {"seed": 7},
        "planned": [fault for fault, _ in struck],
        "struck": [{"fault": fault, "phase": phase} for fault, phase in struck if phase],
        "lost": lost,
        "resumes": resumes,
        "faults": [bad] if bad else [],
    }


def test_a_run_counts_for_each_of_its_faults() -> None:
    """By the phase it struck in; what never found its moment stands under `-`; a failed run did not survive."""
    runs = [
        _run(0, ("a", "walk"), lost=1.0),
        _run(1, ("a", "walk"), ("b", "expand"), lost=3.0, resumes=1),
        _run(2, ("a", ""), lost=0.0),
        _run(3, ("b", "expand"), lost=5.0, resumes=1, bad="verify: 3 differences"),
    ]
    found = [(r.fault, r.phase, r.runs, r.survived, r.resumed, r.lost_median_s, r.lost_worst_s) for r in rows_of(runs)]
    assert found == [
        ("a", "walk", 2, 2, 1, 2.0, 3.0),
        ("a", "-", 1, 1, 0, 0.0, 0.0),
        ("b", "expand", 2, 1, 1, 4.0, 5.0),
    ]
    assert "| `b` | expand | 2 | 1 | 1 | 4.0 | 5.0 | 7/3 |" in markdown(runs).splitlines()
    assert markdown(runs).endswith("Seed 7: 3 of 4 runs survived.")


def test_campaigns_add_up_in_one_table() -> None:
    other = _run(0, ("b", "expand"), lost=7.0, bad="verify: 1 differences")
    other["plan"] = {**other["plan"], "seed": 8}
    lines = markdown([_run(3, ("b", "expand"), lost=5.0, bad="verify: 3 differences"), other])
    assert "| `b` | expand | 2 | 0 | 0 | 6.0 | 7.0 | 7/3, 8/0 |" in lines.splitlines()
    assert lines.endswith("Seed 7, 8: 0 of 2 runs survived.")


def test_several_strikes_of_one_fault_are_one_run() -> None:
    (row,) = rows_of([_run(0, ("a", "walk"), ("a", "expand"), ("a", "index"))])
    assert (row.phase, row.runs) == ("index", 1)


def _journal(place: Path, seed: int = 1, faults: tuple[str, ...] = ("a",)) -> Journal:
    return Journal(place, seed=seed, corpus="c", version="1", faults=faults)


def test_a_campaign_is_gone_on_with(tmp_path: Path) -> None:
    _journal(tmp_path).add(_run(0, ("a", "walk"), bad="no"))
    _journal(tmp_path).add(_run(1, ("a", "walk")))
    _journal(tmp_path).add(_run(0, ("a", "walk")))
    assert {n: run["faults"] for n, run in _journal(tmp_path).runs().items()} == {0: [], 1: []}
    assert _journal(tmp_path, seed=2).runs() == {}
    assert _journal(tmp_path, faults=("a", "b")).runs() == {}


def test_a_line_that_was_cut_short_is_a_run_that_was_not_done(tmp_path: Path) -> None:
    journal = _journal(tmp_path)
    journal.add(_run(0, ("a", "walk")))
    with journal.path.open("a") as out:
        out.write('{"number": 1, "faul')
    assert list(journal.runs()) == [0]
