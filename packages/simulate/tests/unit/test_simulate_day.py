"""A predicted day: the schedule of the experiment in virtual time, from what each matter took alone."""

import dataclasses

import pytest

from cli.main import USAGE, main
from core.errors import UsageError
from core.filer import load_filer
from core.job_types import JobType
from core.operations import Op
from core.records import Phase
from experiments.result.verdict import points_of
from experiments.workloads.day import ABOUT
from experiments.workloads.day.result import DayJob, DayLoad, DayPoint, DayResult, DayRun, Score
from experiments.workloads.day.schedule import STEPS, Schedule
from simulate.day import predicted, schedule_of
from simulate.engine import Engine
from simulate.site import emulated_site
from simulate.tasks import COLUMNS, FSA_S, JobLoad, Task

AT = DayLoad(1, 2, 4, 0)
DAY = Schedule(seconds=60.0, seed=3, clients=2, sources=("anna",), steps=(STEPS[0].value,))
_NAS = load_filer("nas-1g")
assert _NAS is not None
FILER = dataclasses.replace(_NAS, scale=2.0)  # counted once


def _job(kind: JobType, phase: Phase, stats: int, ended: float, share: float = 1.0) -> DayJob:
    """So many metadata calls in 24 tasks."""
    return DayJob(matter=0, client="a", source="anna", type=kind.value, due_s=0.0, ended_s=ended, raw_bytes=10**9, share=share,
                  items=stats, bytes=10**9, cpu_s=0.0, calls={phase: {"stat": (stats // 2, 0)}}, tasks={phase: (0.1,) * 24})  # fmt: skip


def _result(*jobs: DayJob) -> DayResult:
    run = DayRun(repeat=0, order=0, started_at=0.0, elapsed_s=20.0, worker_cpu=0.1, run_queue_share=None, null_elapsed_s=None,
                 latency={}, within_s_per_gb=40.0, jobs=jobs)  # fmt: skip
    points = points_of(ABOUT, {AT: [run]})
    schedule = dataclasses.asdict(DAY) | {"within_s_per_gb": 40.0, "raw_bytes": {"anna": 10**9}}
    return DayResult(
        workload="day", kind="profile", axis="matters", run_id="day-1", created=0.0, verdict="", labels=(), warnings=(),
        conditions={"hosts": [{"boot_id": "x", "processors": 2}], "schedule": schedule},
        points=tuple(point for point in points if isinstance(point, DayPoint)),
        scores=(Score(within_s_per_gb=40.0, carried=0, broken=None, overall_response=None),),
    )  # fmt: skip


def _alone() -> DayResult:
    return _result(
        _job(JobType.DISCOVERY, Phase.EXPAND, 40_000, 10.0), _job(JobType.EXTRACTION, Phase.EXTRACT, 10_000, 12.5, 0.35)
    )


def test_a_job_comes_at_its_time_and_after_another() -> None:
    site = emulated_site(FILER, cores=2, slots=4)
    demand = [0.0] * COLUMNS
    demand[FSA_S] = 1.0
    one = JobLoad(phases=((Phase.EXPAND, (Task(1, 1, 1, demand),)),), items=1, discovered_bytes=0)
    loads = [one, dataclasses.replace(one, at_s=7.0, after=0), dataclasses.replace(one, at_s=3.0)]
    trace = Engine(site, loads, workers=1, databases=1, chunk=1.0).run()
    ends = [spans[-1][2] for spans in trace.jobs]
    assert ends[0] == pytest.approx(1.0, abs=0.1)
    assert ends[1] == pytest.approx(ends[0] + 8.0, abs=0.1)
    assert ends[2] == pytest.approx(4.0, abs=0.1)


def test_a_day_is_predicted_up_to_the_capacity_of_the_filer() -> None:
    """Promise: a load of one takes what the matter took alone; the load carried is below what the busiest unit could serve in the
    day, and near it where the bound is wide; a day is predicted alike each time; a faster filer carries more."""
    loads = (1,)
    alone = predicted(_alone(), FILER, AT, DAY, 40.0, loads, repeats=1, source="")
    assert alone.curve == ((1, pytest.approx(10.0, rel=0.05)),)
    found = predicted(_alone(), FILER, AT, DAY, 20.0, (), repeats=1, source="")
    assert found == predicted(_alone(), FILER, AT, DAY, 20.0, (), repeats=1, source="")
    call_s = FILER.cost(Op.STAT, indexing=False).metadata_ns.each / 1e9
    most = DAY.seconds / (25_000 * call_s / FILER.metadata.servers)  # matters that the unit can serve in the day
    assert 0.5 * most < found.carried < 1.1 * most  # the last ones end after the day
    assert {4, 8, 16} <= {load for load, _ in found.curve}
    loads = (found.carried + 4,)
    (slower,), (faster,) = (
        predicted(_alone(), filer, AT, DAY, 20.0, loads, repeats=1, source="").curve
        for filer in (FILER, load_filer("titan"))
    )
    assert slower[1] > 20.0 > faster[1]


def test_what_cannot_be_predicted_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for line, option in (("day --from x --seed 2", "--seed"), ("r1 --filer titan", "--filer")):
        assert main(["simulate", *line.split()], {}) == USAGE
        assert f"has no option {option}" in capsys.readouterr().err
    assert schedule_of(_alone()) == (DAY, 40.0)
    with pytest.raises(UsageError, match="emulated filer"):
        predicted(_alone(), None, AT, DAY, 40.0, (), repeats=1, source="")
    other = dataclasses.replace(AT, setting="fsync=file")
    with pytest.raises(UsageError, match="alone with fsync=file"):
        predicted(_alone(), FILER, other, DAY, 40.0, (), repeats=1, source="")
    loaded = dataclasses.replace(_alone().points[0], at=dataclasses.replace(AT, matters=4))
    with pytest.raises(UsageError, match="--matters 0"):
        predicted(dataclasses.replace(_alone(), points=(loaded,)), FILER, AT, DAY, 40.0, (), repeats=1, source="")
