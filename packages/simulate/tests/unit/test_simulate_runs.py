"""Whole runs: the same bytes twice, data sets that are as large with every seed, and what is drawn or served together; sites;
report R1's facts."""

import dataclasses
import gzip
import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import UsageError
from core.filer import load_filer
from simulate.answer import Wish, calibrated, simulate
from simulate.demands import (
    CPU,
    DATABASE_CPU,
    KINDS,
    OPS,
    READ_BYTES,
    WRITTEN_BYTES,
    file_of,
    phases_of,
    shipped,
    solve,
)
from simulate.facts import FILE, Fact, Row, evaluate, facts, means, plateau_s, reason
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import Case, doubled, run_case
from simulate.site import DatabaseServer, Host, Site, emulated_site, load_site, read_site, site_names
from simulate.tasks import COLUMNS, JobLoad, Task, jobs_of

_SCALE = 0.02
_CALIBRATION = shipped()


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of("r1", _SCALE, 1, contents_of_plain(_CALIBRATION.contents))


@pytest.fixture(scope="module")
def small() -> Plan:
    return plan_of("r1", _SCALE / 8, 1, contents_of_plain(_CALIBRATION.contents))


def test_the_shipped_demands_follow_from_the_jobs() -> None:
    """Promise: what is shipped is solved from the measured jobs that are shipped with it; no number is typed in."""
    jobs = json.loads(gzip.decompress(file_of("").read_bytes()))["jobs"]
    for phase, quantities in solve(jobs, "").phases.items():
        for name, each in quantities.items():
            assert each == pytest.approx(_CALIBRATION.demands.phases[phase][name]), (phase, name)


def test_two_simulations_give_the_same_bytes() -> None:
    wish = Wish(site=load_site("r1"), workers=(3,), scale=0.0005)
    first, second = (json.dumps(simulate(wish, lambda _: None).document.to_json()) for _ in range(2))
    assert first == second


def test_report_r1_is_reproduced() -> None:
    """Promise: at full scale every fact that was fitted holds, with the required ones and at least 80 % of those that are predicted."""
    answer = simulate(Wish(site=load_site("r1")), lambda _: None)
    facts = answer.facts or ()
    predicted = [fact.held for fact in facts if fact.use == "predict"]
    assert "NOT REPRODUCED" not in answer.document.verdict
    assert len(facts) == 27
    assert all(fact.held for fact in facts if fact.use == "fit" or fact.required)
    assert sum(predicted) >= 0.8 * len(predicted)


def test_every_seed_has_as_many_bytes_inside(plan: Plan) -> None:
    """Promise: seeds differ in where things are; what files hold comes to the same size within 0.5 %."""
    other = plan_of("r1", _SCALE, 2, contents_of_plain(_CALIBRATION.contents))
    ratio = [one.discovered_bytes / one.raw_bytes for one in (plan, other)]
    assert ratio[0] == pytest.approx(ratio[1], rel=0.005)


def test_chunks_change_report_r1_by_little(plan: Plan) -> None:
    """Promise: with the chunks of the full scale, R1 at scale 0.02 takes as long as with each item served alone, within 3 %."""
    site, case = load_site("r1"), Case(workers=3, databases=1)
    elapsed = [run_case(site, case, plan, _CALIBRATION.demands, chunk=chunk)[0].elapsed_s for chunk in (1, 33)]
    assert elapsed[1] == pytest.approx(elapsed[0], rel=0.03)


def test_drawn_tasks_come_to_the_whole_data_set(plan: Plan) -> None:
    """Promise: a data set of 7 times a sample demands 7 times as much, in no more tasks than asked for, and says how many they are."""
    site = load_site("cluster")
    one = jobs_of(plan, _CALIBRATION.demands, site)
    many = jobs_of(dataclasses.replace(plan, copies=7), _CALIBRATION.demands, site, most_tasks=400)
    assert _demand(many) == pytest.approx(7 * _demand(one))
    tasks = [task for job in many for _, some in job.phases for task in some]
    assert len(tasks) < 7 * sum(len(some) for job in one for _, some in job.phases)
    assert sum(task.represents for task in tasks) == 7 * sum(len(some) for job in one for _, some in job.phases)


def _demand(jobs: list[JobLoad]) -> np.ndarray:
    def of(task: Task) -> np.ndarray:
        return np.array(task.demand) + sum((of(one) for one in task.follow), np.zeros(COLUMNS))

    return sum((of(task) for job in jobs for _, some in job.phases for task in some), np.zeros(COLUMNS))


def test_a_dispatcher_bounds_the_tasks_a_second(plan: Plan) -> None:
    """Promise: with a dispatcher of 1 task/s a run takes a second a task or longer."""
    site = dataclasses.replace(load_site("cluster"), dispatched_per_s=1.0)
    tasks = sum(len(some) for job in jobs_of(plan, _CALIBRATION.demands, site) for _, some in job.phases)
    slow = run_case(site, Case(workers=16, databases=1), plan, _CALIBRATION.demands)[0].elapsed_s
    free = dataclasses.replace(site, dispatched_per_s=0.0)
    assert slow >= tasks > run_case(free, Case(workers=16, databases=1), plan, _CALIBRATION.demands)[0].elapsed_s


def _ample() -> Site:
    """A site where one slot of each of two workers is the only thing that is scarce."""
    site = load_site("cluster")
    host, database = Host(cores=64, ghz=100.0, memory_gb=0), DatabaseServer(cores=64, ghz=100.0)
    return dataclasses.replace(
        site, hosts=(host,), databases=(database,), slots=4, worker_cores=16, bytes_per_s=1e12, dispatched_per_s=0.0,
        job_per_custodian=False,
    )  # fmt: skip


def _scarce(what: str) -> Site:
    site = _ample()
    slow = Host(cores=2, ghz=1.0, memory_gb=0)
    return {
        "cores of the hosts": dataclasses.replace(site, hosts=(slow,)),
        "cores of a worker": dataclasses.replace(site, worker_cores=1, hosts=(dataclasses.replace(slow, cores=64),)),
        "slots of a worker": dataclasses.replace(site, slots=1, hosts=(dataclasses.replace(slow, cores=64),)),
        "cores of the database servers": dataclasses.replace(site, databases=(DatabaseServer(cores=1, ghz=0.05),)),
        "speed of FSA": dataclasses.replace(site, fsa=dataclasses.replace(site.fsa, servers=1, service_us=3_000, change_us=3_000)),
        "speed of FSB": dataclasses.replace(site, fsb=dataclasses.replace(site.fsb, servers=1, service_us=5_000, change_us=5_000)),
        "network": dataclasses.replace(site, bytes_per_s=20e6),
        "index streams": dataclasses.replace(site, index_streams=1, hosts=(dataclasses.replace(slow, cores=64),)),
    }[what]  # fmt: skip


@pytest.mark.parametrize("what", doubled(dataclasses.replace(_ample(), index_streams=1)))
def test_twice_of_what_is_scarce_gains_most(what: str, small: Plan) -> None:
    """Promise: where one resource is short, twice of it is at least 1.4 times as fast (a mailbox keeps one core busy to its end), and twice of nothing else gains as much or
    makes a run longer by more than 3 %."""
    site, case = _scarce(what), Case(workers=2, databases=1)
    base = run_case(site, case, small, _CALIBRATION.demands)[0].elapsed_s
    gains = {
        name: base / run_case(more, case, small, _CALIBRATION.demands)[0].elapsed_s
        for name, more in doubled(site).items()
    }
    assert max(gains, key=lambda name: gains[name]) == what
    assert gains[what] > 1.4
    slots = gains.pop("slots of a worker")
    assert min(gains.values()) > 0.97
    assert (
        slots > 0.7
    )  # tasks are cut finer for them: each publishes files and costs the database as much as fifty items


def _result(plan: Plan, factor: float, workers: int = 1) -> dict[str, Any]:
    """A result whose job's workers took `factor` times what the calibration demands for this data set, on a machine of two cores."""
    kind, size = np.concatenate((plan.kind, plan.child_kind)), np.concatenate((plan.size, plan.child_size))
    items = np.stack((np.bincount(kind, minlength=KINDS), np.bincount(kind, weights=size, minlength=KINDS)), axis=1)
    phases = []
    for n, (phase, of) in enumerate(_CALIBRATION.demands.phases.items()):
        crew = {
            name: _CALIBRATION.demands.each_task[phase][name] + workers * _CALIBRATION.demands.each_slot[phase][name]
            for name in of
        }
        took = {name: factor * (float((each * items).sum()) + crew[name]) for name, each in of.items()}
        calls = {op: {"calls": took[op]} for op in OPS}
        calls["read"]["bytes"], calls["write"]["bytes"] = took[READ_BYTES], took[WRITTEN_BYTES]
        phases.append({
            "phase": phase, "database": "db1", "start_s": 10.0 * n, "elapsed_s": 10.0, "tasks": 1, "calls": calls,
            "cpu_s": {"workers": took[CPU], "databases": 1e6},
        })  # fmt: skip
    run = {
        "phases": phases, "series": {"database_activity": []},
        "result": {"items": plan.items, "discovered_bytes": plan.discovered_bytes},
    }  # fmt: skip
    conditions = {"hosts": [{"boot_id": "one", "processors": 2}] * workers}
    return {"points": [{"at": {"workers": workers, "slots": 1}, "repeats": [run]}], "conditions": conditions}


def test_a_result_scales_what_workers_take(plan: Plan) -> None:
    """Promise: `--from` a job that took twice the CPU, calls and bytes of the calibration demands twice of each; the looks of queue
    manager and monitors, which are in its database's total, do not count in it, but on a host that all processes share."""
    before = _CALIBRATION.demands.phases["expand"]
    result, filer = _result(plan, 2.0), load_filer("titan")
    assert filer is not None
    demands = calibrated(_CALIBRATION, result, plan, "mine")
    after = demands.phases["expand"]
    share, rate = demands.others
    for took in phases_of(result["points"][0]["repeats"][0]).values():
        assert share * took[CPU] + rate * took["elapsed_s"] == pytest.approx(1e6, rel=0.02)
    assert emulated_site(filer, cores=4, slots=1, others=(0.5, 1.0)).hosts[0].cores == 2.0
    for name in (CPU, "open", READ_BYTES, WRITTEN_BYTES):
        assert after[name] == pytest.approx(2 * before[name], rel=1e-3), name
    assert after[DATABASE_CPU] == pytest.approx(before[DATABASE_CPU])


def test_cpu_grows_where_slots_share_cores(plan: Plan) -> None:
    """Promise: where more slots than cores took more CPU for the same items, the growth is found and a crowded host simulated with it."""
    two, eight = _result(plan, 1.0, workers=2), _result(plan, 1.3, workers=8)
    demands = calibrated(_CALIBRATION, {**two, "points": two["points"] + eight["points"]}, plan, "mine")
    assert demands.crowding == pytest.approx(0.3 / (8 / 2 - 1), rel=0.01)
    assert calibrated(_CALIBRATION, two, plan, "mine").crowding == 0.0
    filer = load_filer("nas-10g")
    assert filer is not None
    site = emulated_site(filer, cores=2, slots=1, crowding=demands.crowding)
    for workers, longer in ((2, 1.0), (8, 1.2)):
        case = Case(workers=workers, databases=1)
        crowded, alone = (run_case(dataclasses.replace(site, crowding=c), case, plan, demands)[0].elapsed_s for c in (demands.crowding, 0.0))  # fmt: skip
        assert (crowded == alone) if longer == 1.0 else (crowded > longer * alone)


def test_what_is_no_result_of_a_discovery_is_refused(plan: Plan) -> None:
    """Promise: one line names the file and what it lacks."""
    with pytest.raises(UsageError, match="mine is not a result of a discovery: it has no runs"):
        calibrated(_CALIBRATION, {"points": []}, plan, "mine")


def test_a_fitted_site_takes_no_result() -> None:
    """Promise: report R1's site is fitted to the shipped calibration: with another job's demands its figures would mean nothing."""
    with pytest.raises(UsageError, match="--from"):
        simulate(Wish(site=load_site("r1"), result=Path("result.json")), lambda _: None)


@pytest.mark.parametrize("name", ["plateau-A", "units-26k", "sql-after-B", "gain-databases", "elapsed-C", "late-B"])
def test_a_miss_is_explained_by_the_series(name: str) -> None:
    """Promise: the reason of a fact that is not held says figures of its row."""
    series = {key: [1.0] * 20 for key in ("filer_ops", "fsa", "fsb", "database_io", "read_ms", "write_ms", "queued")}
    row = Row(elapsed_s=1200.0, discovery_end_s=300.0, gb_before=1.0, gb_after=2.0, series=series)
    fact = Fact(id=name, use="predict", required=False, stated="", value=None, held=False)
    shown = reason(fact, {"A": row, "B": row, "C": row})
    assert any(sign.isdigit() for sign in shown)
    assert "limited by" not in shown


R1 = resources.files("simulate").joinpath("sites", "r1.toml").read_text(encoding="utf-8")


def test_every_shipped_site_loads() -> None:
    """Promise: `edbench simulate NAME` works for each; a misspelt name lists them."""
    with pytest.raises(UsageError, match="r1"):
        load_site("r2")
    assert "r1" in site_names()
    for name in site_names():
        assert load_site(name).name == name


def test_the_site_of_report_r1_is_as_stated() -> None:
    """Promise: hosts, SQL servers, workers and network are the report's and no parameters."""
    site = load_site("r1")
    assert [(host.cores, host.ghz, host.memory_gb) for host in site.hosts] == [(16, 2.33, 64), (16, 2.33, 24), (4, 2.0, 8), (4, 2.0, 8), (4, 2.5, 16)]  # fmt: skip
    assert [(server.cores, server.ghz) for server in site.databases] == [(8, 3.16), (2, 2.0)]
    assert (site.slots, site.worker_cores, site.worker_memory_gb, site.bytes_per_s) == (4, 2, 2, 375e6)


@pytest.mark.parametrize(
    ("old", "new", "shows"),
    [
        ("cores = 16", "cores = 0", "cores is 0"),
        ("cores = 16", "cores = 1.5", "whole number"),
        ("[network]", "[networks]", "networks"),
        ('name = "cifs"', 'name = "none"', "none"),
        ("rpm = 15000", "rpm = nan", "rpm"),
        ('jobs = "custodian"', 'jobs = "each"', "one of"),
        ("[filer.fsa]", "[filer.fsa", "TOML"),
    ],
)
def test_a_wrong_site_is_refused(old: str, new: str, shows: str) -> None:
    """Promise: the key, the value, and what to do, in one line."""
    with pytest.raises(UsageError, match=shows) as refused:
        read_site(R1.replace(old, new, 1), "mine.toml")
    assert "\n" not in str(refused.value)


GIVEN = Path(__file__).parents[5] / "shared" / "reference" / "r1-facts.json"


def _row(ops: list[float], discovery_end_s: float, **series: list[float]) -> Row:
    flat = {name: [0.5] * len(ops) for name in ("fsa", "fsb", "database_io", "read_ms", "write_ms", "queued")}
    return Row(
        elapsed_s=len(ops) * 60.0, discovery_end_s=discovery_end_s, gb_before=45.0, gb_after=75.0,
        series=flat | {"filer_ops": ops} | series,
    )  # fmt: skip


def _held(rows: dict[str, Row]) -> dict[str, bool]:
    return {fact.id: fact.held for fact in evaluate(rows)}


@pytest.mark.skipif(not GIVEN.exists(), reason="the shared reference facts are not here")
def test_the_shipped_facts_are_the_given_ones() -> None:
    """Promise: no fact was dropped, redefined or loosened."""
    assert json.loads(FILE.read_text()) == json.loads(GIVEN.read_text())


def test_a_row_as_the_report_describes_it_holds_its_facts() -> None:
    """Promise: the report's own figures hold: 39,000 for 30 minutes, 20,000 in the middle, 10,000 late, zero at the end."""
    ops = [39_000.0] * 30 + [26_000.0] * 6 + [20_000.0] * 144 + [10_000.0] * 98 + [500.0] * 8
    minutes = len(ops)
    fsa = [0.99] * 30 + [0.55] * 6 + [0.3] * (minutes - 36)
    fsb = [0.60] * 30 + [0.45] * 6 + [0.4] * (minutes - 36)
    b = _row(ops, 36 * 60.0, fsa=fsa, fsb=fsb, database_io=[1_200.0] * 36 + [100.0] * (minutes - 36))
    b = dataclasses.replace(b, elapsed_s=17_136.0)
    held = _held({"A": b, "B": b, "C": b})
    wanted = (
        "elapsed-B",
        "peak-B",
        "plateau-B",
        "middle-B",
        "late-B",
        "end-B",
        "units-39k",
        "units-26k",
        "units-end",
        "sql-peak-B",
        "sql-after-B",
    )
    assert {name: held[name] for name in wanted} == dict.fromkeys(wanted, True)
    assert not held["elapsed-A"]
    assert not held["sql-peak-later-A"]


def test_what_is_flat_holds_none_of_the_course() -> None:
    """Promise: a filer that is asked for the same all the time fails plateau, middle, late and end."""
    flat = _row([39_000.0] * 286, 2_000.0)
    held = _held({"A": flat, "B": flat, "C": flat})
    for name in ("plateau-B", "plateau-C", "above-90-C", "middle-B", "late-B", "end-B", "units-26k", "units-end"):
        assert not held[name], name


def test_every_fact_has_a_value() -> None:
    """Promise: all 27 are evaluated, in the order of the list."""
    row = _row([100.0] * 10, 300.0)
    assert [fact.id for fact in evaluate({"A": row, "B": row, "C": row})] == [fact["id"] for fact in facts()]


def test_a_plateau_begins_at_the_start_and_ends_with_the_mean_of_five_minutes() -> None:
    assert means([0.0, 10.0], 5) == [5.0]
    assert plateau_s([10.0] * 30 + [0.0] * 30) == pytest.approx(30 * 60.0)
    assert plateau_s([1.0] * 10 + [10.0] * 10) == 0.0
