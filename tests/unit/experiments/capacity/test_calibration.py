"""What calibration reads out of a result; the reference calibration, a measured one, serves as result."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from core.errors import UsageError
from core.filer import load_filer
from core.filer.model import Client
from core.operations import Op
from core.records import Phase
from experiments.capacity import filer_load
from experiments.capacity.calibration import calibrate
from experiments.capacity.filer_load import DATA, DISK, LINK, METADATA, Calls
from experiments.capacity.reference import read_reference
from experiments.filer_numbers import filer_of, numbers_of
from experiments.workloads.discovery.phase_use import PhaseUse
from experiments.workloads.discovery.result import Point, Result, Run


@pytest.fixture(scope="module")
def measured() -> Result:
    found = read_reference()
    points = tuple(dataclasses.replace(point, repeats=point.repeats[:1]) for point in found.points)
    return dataclasses.replace(found, points=points)  # one repeat: which of several is taken is not what is tested


def _with_runs(measured: Result, **changes: object) -> Result:
    points = tuple(
        dataclasses.replace(point, repeats=tuple(dataclasses.replace(run, **changes) for run in point.repeats))  # type: ignore[arg-type]
        for point in measured.points
    )
    return dataclasses.replace(measured, points=points)


def _with_points(result: Result, *points: Point) -> Result:
    return dataclasses.replace(result, points=points)


def test_every_call_of_the_records_is_somewhere(measured: Result) -> None:
    """Those that come with items and those that come with tasks are all there were, bytes included."""
    found = calibrate(measured, "r", filer_given=False)
    run = measured.points[1].repeats[0]
    for phase, use in zip(found.phases, run.phases, strict=True):
        for label, call in use.calls.items():
            op = Op[label.upper()]
            items = phase.calls.get(op, Calls(calls=0.0, bytes=0.0))
            each = phase.calls_a_task.get(op, Calls(calls=0.0, bytes=0.0))
            assert items.calls + each.calls * use.tasks == pytest.approx(call.calls)
            assert items.bytes + each.bytes * use.tasks == pytest.approx(call.bytes)


def test_seconds_add_up_to_what_the_slot_was_busy(measured: Result) -> None:
    """With one slot nobody waits in a queue: the filer's own seconds, waits and time beside calls are all of it."""
    found = calibrate(measured, "r", filer_given=False)
    filer, run = found.filer, measured.points[0].repeats[0]
    assert filer is not None
    for phase, use in zip(found.phases, run.phases, strict=True):
        calls = {Op[k.upper()]: Calls(calls=c.calls, bytes=c.bytes) for k, c in use.calls.items()}
        path = (
            sum(filer_load.demands(filer, calls, use.phase).values()) + phase.wait_s + phase.local_s + phase.database_s
        )
        assert path == pytest.approx(use.elapsed_s, rel=0.05)


def test_what_is_busy_with_time_is_told_from_what_comes_with_work(measured: Result) -> None:
    found = calibrate(measured, "r", filer_given=False)
    assert 0.0 < found.background_database < 0.2
    assert 0.0 < found.background < 0.2
    used = sum(phase.cpu_s["databases"] for phase in measured.points[0].repeats[0].phases)
    assert sum(phase.database_s for phase in found.phases) < used


@pytest.mark.parametrize("source", ["titan", "site/r1@2000", "site/small-office"])
def test_the_filer_comes_back_from_its_numbers(measured: Result, source: str) -> None:
    """With its client and the site around it, through JSON."""
    filer = load_filer(source)
    assert filer is not None
    filer = dataclasses.replace(filer, source=source)
    numbers = json.loads(json.dumps(numbers_of(filer)))
    said = {"name": filer.name, "scale": filer.scale, "digest": filer.digest, "numbers": numbers}
    result = dataclasses.replace(measured, conditions=measured.conditions | {"emulated_filer": said})
    assert filer_of(result, "r") == filer
    said["numbers"]["metadata"]["servers"] = 3
    with pytest.raises(UsageError, match="are not those it ran with"):
        filer_of(result, "r")


def test_demands_of_calls() -> None:
    """By the profile's own numbers, of filer ops: titan's renames are 203 of metadata, its reads 0.5 for every 4 kB begun."""
    filer = load_filer("titan")
    assert filer is not None
    calls = {Op.RENAME: Calls(calls=10, bytes=0), Op.READ: Calls(calls=20, bytes=375e6)}
    found = filer_load.demands(filer, calls, Phase.EXPAND.value)
    assert found[METADATA] == pytest.approx(10 * 203 * 260.0e-6)
    assert found[DATA] == pytest.approx((375e6 / 4096 + 20 / 2) * 0.5 * 320.0e-6)
    assert found[LINK] == pytest.approx(1.0)
    assert found[DISK] == pytest.approx(20 * 0.10 * 0.004)


def test_demands_of_calls_of_phase_index() -> None:
    """A close of that phase is other filer ops on titan, for what R1's engine read and wrote beside."""
    filer = load_filer("titan")
    assert filer is not None
    calls = {Op.CLOSE: Calls(calls=10, bytes=0)}
    usual, index = (filer_load.demands(filer, calls, phase.value)[DATA] for phase in (Phase.EXPAND, Phase.INDEX))
    assert usual == pytest.approx(10 * 25 * 576e-6)
    assert index == pytest.approx(10 * 264 * 178e-6)


_OF_CALLS = """
name = "of calls"
[metadata]
service_us.default = 400.0
[data]
service_us.default = 300.0
[link]
bytes_per_s = 118e6
[disk]
read_ms = 8.0
read_miss = 0.20
"""


def test_demands_of_a_filer_in_calls(tmp_path: Path) -> None:
    """Service times and link are divided by its scale, delays are not."""
    (tmp_path / "calls.toml").write_text(_OF_CALLS)
    filer = load_filer(str(tmp_path / "calls.toml"))
    assert filer is not None
    slow = dataclasses.replace(filer, scale=40.0, client=Client(round_trip_us=500.0))
    calls = {Op.OPEN: Calls(calls=10, bytes=0), Op.READ: Calls(calls=20, bytes=118e6)}
    found = filer_load.demands(slow, calls, Phase.INDEX.value)
    assert found[METADATA] == pytest.approx(10 * 400e-6 * 40)
    assert found[DATA] == pytest.approx(20 * 300e-6 * 40)
    assert found[LINK] == pytest.approx(40.0)
    assert found[DISK] == pytest.approx(20 * 0.20 * 0.008 + 30 * 500e-6)


def test_a_result_without_records_is_refused(measured: Result) -> None:
    with pytest.raises(UsageError, match="no records of calls and tasks by phase"):
        calibrate(_with_runs(measured, phases=()), "old", filer_given=False)


def test_a_result_that_misses_calls_is_refused(measured: Result) -> None:
    run: Run = measured.points[0].repeats[0]
    lost = _with_runs(measured, result=run.result | {"calls_complete": False})
    with pytest.raises(UsageError, match="only a lower bound"):
        calibrate(lost, "lost", filer_given=False)


def test_one_number_of_workers_is_refused(measured: Result) -> None:
    with pytest.raises(UsageError, match="two numbers of workers"):
        calibrate(_with_points(measured, measured.points[0]), "one", filer_given=True)


def test_a_generator_limited_result_calibrates_no_filer(measured: Result) -> None:
    """Its own filer it says nothing about; where the filer's numbers come from a file it may serve."""
    points = [dataclasses.replace(point, limited=True, limits=("said",)) for point in measured.points]
    limited = _with_points(measured, *points)
    with pytest.raises(UsageError, match="GENERATOR-LIMITED at 1 worker"):
        calibrate(limited, "busy", filer_given=False)
    assert calibrate(limited, "busy", filer_given=True).phases


def test_a_result_on_real_storage_has_a_delay_and_no_filer(measured: Result) -> None:
    conditions = measured.conditions | {"emulated_filer": None}
    found = calibrate(dataclasses.replace(measured, conditions=conditions), "real", filer_given=False)
    assert found.filer is None
    use: PhaseUse = measured.points[0].repeats[0].phases[1]
    assert found.phases[1].call_s == pytest.approx(sum(call.seconds for call in use.calls.values()))


def test_processors_that_serve_real_storage_on_this_host_are_asked_for_by_its_calls(measured: Result) -> None:
    """A shared file system whose servers run here: what of the host's processors nobody else used comes with calls, and more
    workers compete for it. Where the host's own are not known nothing is made up."""
    conditions = measured.conditions | {"emulated_filer": None, "hosts": [{"processors": 2}]}
    points = []
    for point in measured.points:
        (run,) = point.repeats
        told = sum(seconds for phase in run.phases for seconds in phase.cpu_s.values())
        busy = dataclasses.replace(run, host_cpu=(told + 3.0) / (2 * run.elapsed_s))
        points.append(dataclasses.replace(point, repeats=(busy,)))
    real = dataclasses.replace(measured, conditions=conditions, points=tuple(points))
    found = calibrate(real, "real", filer_given=True)
    assert sum(phase.serving_s for phase in found.phases) == pytest.approx(3.0)
    assert found.phases[1].serving_s / found.phases[2].serving_s == pytest.approx(
        found.phases[1].call_s / found.phases[2].call_s
    )
    unknown = calibrate(_with_runs(real, host_cpu=None), "real", filer_given=True)
    assert sum(phase.serving_s for phase in unknown.phases) == 0.0


def test_of_more_tasks_than_are_kept_all_are_counted(measured: Result) -> None:
    """What comes with each task is asked for as often as there were tasks, and none is as heavy as several."""
    use = measured.points[0].repeats[0].phases[1]
    many = dataclasses.replace(use, tasks=1_000, task_s=tuple(use.busy_s / 1_000 for _ in range(400)))
    phases = tuple(many if one.phase == use.phase else one for one in measured.points[0].repeats[0].phases)
    found = calibrate(_with_runs(measured, phases=phases), "r", filer_given=False)
    load = next(load for load in found.phases if load.name == use.phase)
    assert (load.tasks, len(load.sizes)) == (1_000, 1_000)
    for label, call in use.calls.items():
        op = Op[label.upper()]
        items, each = load.calls.get(op), load.calls_a_task.get(op)
        assert (items.calls if items else 0.0) + (each.calls if each else 0.0) * load.tasks == pytest.approx(call.calls)


def test_what_slots_wait_for_at_the_end_of_a_phase_is_no_gap_between_tasks(measured: Result) -> None:
    """The simulation has an end of its own; counted as the queue's as well it would be there twice."""
    run = measured.points[0].repeats[0]
    use = run.phases[1]
    longer = dataclasses.replace(use, elapsed_s=use.elapsed_s + 2.0, tasks=1_000)
    run = dataclasses.replace(run, phases=tuple(longer if one is use else one for one in run.phases))
    end = use.start_s + longer.elapsed_s
    tasks = (("w1", 0, use.phase, use.start_s, end - 2.0), ("w1", 1, use.phase, use.start_s, end))
    ended = dataclasses.replace(run, series=dataclasses.replace(run.series, tasks=tasks))
    waits = []
    for one in (run, ended):
        points = tuple(dataclasses.replace(point, repeats=(one,)) for point in measured.points)
        waits.append(calibrate(_with_points(measured, *points), "r", filer_given=False).phases[1].wait_s)
    assert waits[0] - waits[1] == pytest.approx(2.0, abs=0.05)
