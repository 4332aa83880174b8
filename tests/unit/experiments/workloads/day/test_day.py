"""The schedule of a day and its score."""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import UsageError
from core.job_types import JobType
from experiments.kinds import kind_of
from experiments.orders import day_loads
from experiments.result.schema import At, Run
from experiments.result.verdict import points_of
from experiments.workloads.day import ABOUT, searched
from experiments.workloads.day import workload as workload_module
from experiments.workloads.day.result import (
    DayJob,
    DayLoad,
    DayRun,
    carried_of,
    fairness,
    p95_s_per_gb,
    percentile,
    scores_of,
)
from experiments.workloads.day.schedule import STEPS, Schedule, read_schedule
from experiments.workloads.day.workload import steps_there

DAY = Schedule(seconds=480.0, seed=1, clients=3, sources=("anna", "ben"), steps=tuple(map(str, STEPS)))
AT = DayLoad(1, 2, 4, 0)


@given(seed=st.integers(0, 2**63), load=st.integers(1, 60), more=st.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_a_seed_has_one_schedule_and_more_load_brings_the_same_matters_sooner(seed: int, load: int, more: int) -> None:
    """So many matters as the load says, in order, within the day; what is compared at two loads is the same work."""
    day = dataclasses.replace(DAY, seed=seed)
    few, many = day.matters(load, 0), day.matters(load + more, 0)
    assert few == day.matters(load, 0) != day.matters(load, 1)
    assert [one.arrives_s for one in few] == sorted(one.arrives_s for one in few)
    assert len(few) == load
    assert 0 < few[0].arrives_s < few[-1].arrives_s + 1e-9 < day.seconds
    unlike = ("arrives_s",)
    same = [{k: v for k, v in dataclasses.asdict(one).items() if k not in unlike} for one in (*few, *many)]
    assert same[:load] == same[load : 2 * load]


@given(seed=st.integers(0, 2**63))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_arrivals_are_a_poisson_process(seed: int) -> None:
    """Given their number they are uniform over the day (Kolmogorov-Smirnov), and gaps spread as exponential ones do."""
    number = 1_000
    times = [one.arrives_s / DAY.seconds for one in dataclasses.replace(DAY, seed=seed).matters(number, 0)]
    apart = max(max((n + 1) / number - at, at - n / number) for n, at in enumerate(times))
    assert apart * math.sqrt(number) < 2.2  # passed by all but 1 of 8,000 such processes
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert statistics.stdev(gaps) / statistics.fmean(gaps) == pytest.approx(1.0, abs=0.2)


TWO = """
hours = 10
[[matter]]
at_hours = 5
source = "ben"
export = 0.5
[[matter]]
at_hours = 2.5
client = "acme"
extraction = 1.0
"""


def test_a_schedule_is_read_from_a_file_and_repeated(tmp_path: Path) -> None:
    """In order of arrival, twice within the day at twice its load; a step without a share does not run."""
    (tmp_path / "day.toml").write_text(TWO)
    day = dataclasses.replace(DAY, listed=read_schedule(tmp_path / "day.toml", DAY.sources))
    matters = day.matters(4, 0)
    assert [one.arrives_s for one in matters] == [60.0, 120.0, 300.0, 360.0]
    assert [(one.client, one.source, one.steps) for one in matters[:2]] == [
        ("acme", "anna", ("extraction",)),
        ("client 1", "ben", ("export",)),
    ]
    assert len(day.matters(3, 0)) == 3


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("[[matter]]\nat_hours = 9", "matter[0].at_hours is 9; it must be between 0 and 8"),
        ("[[matter]]", "matter[0].at_hours is missing"),
        ('[[matter]]\nat_hours = 1\nsource = "carla"', "must be one of anna, ben"),
        ("[[matter]]\nat_hours = 1\nexport = 1.5", "matter[0].export is 1.5"),
        ("[[matter]]\nat_hours = 1\nexprot = 1", "did you mean 'export'"),
        ("hours = 8", "must be 1 to"),
        ("[[matter", "it must be TOML"),
    ],
)
def test_a_bad_schedule_is_refused_in_one_line(tmp_path: Path, text: str, shows: str) -> None:
    (tmp_path / "day.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_schedule(tmp_path / "day.toml", DAY.sources)
    assert shows in str(refused.value) or shows == "it must be TOML"
    assert "\n" not in str(refused.value)


def test_loads_are_whole_numbers() -> None:
    assert day_loads("8, 4,0,8") == (0, 4, 8)
    assert day_loads(None) == ()
    for wrong in ("", "x", "1.5", "-1", "1,,2"):
        with pytest.raises(UsageError, match="--matters"):
            day_loads(wrong)


def _discovery(number: int, s_per_gb: float, client: str = "client 1") -> DayJob:
    return DayJob(matter=number, client=client, source="anna", type=JobType.DISCOVERY, due_s=float(number),
                  ended_s=number + 2 * s_per_gb, raw_bytes=2_000_000_000)  # fmt: skip


def _run(jobs: Sequence[DayJob], repeat: int = 0, order: int = 0) -> DayRun:
    return DayRun(repeat=repeat, order=order, started_at=0.0, elapsed_s=500.0, worker_cpu=0.1, run_queue_share=None,
                  null_elapsed_s=None, latency={}, within_s_per_gb=10.0, jobs=tuple(jobs))  # fmt: skip


def test_the_figures_of_a_day_follow_from_its_jobs() -> None:
    """95 % end within the 19th of 20; who is in time; fairness from alike to one who waits for all."""
    run = _run([_discovery(n, float(n + 1)) for n in range(20)])
    assert p95_s_per_gb(run) == pytest.approx(19.0)
    assert run.in_time == 10
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert fairness(run) is None
    assert fairness(_run([_discovery(0, 4.0), _discovery(1, 4.0, "b")])) == pytest.approx(1.0)
    assert fairness(_run([_discovery(0, 1e-9), _discovery(1, 4.0, "b")])) == pytest.approx(0.5)
    assert fairness(_run([_discovery(0, 1.0), _discovery(1, 3.0, "b")])) == pytest.approx(16 / 20)


def test_a_load_is_carried_where_every_lower_one_is() -> None:
    assert carried_of({4: 1.0, 8: 9.0, 16: 11.0, 32: 9.0}, 10.0) == (8, 16)
    assert carried_of({4: 11.0}, 10.0) == (0, 4)
    assert carried_of({0: 99.0, 4: 10.0}, 10.0) == (4, None)


@pytest.mark.parametrize("bases", [[AT], [dataclasses.replace(AT, setting=f"fsync={one}") for one in ("none", "file")]])
def test_a_search_raises_the_rate_to_the_bound_and_the_score_names_it(bases: Sequence[DayLoad]) -> None:
    """Response time that grows as a queue's does towards 40 matters a day breaks a bound of 10 s/GB over 30; the overall
    response time is the area under the curve. Each setting has a search and a score of its own; this one's second carries half."""

    def measure(at: At, repeat: int) -> Run:
        most = 20 if at.setting == "fsync=file" else 40
        each = 2.5 / (1 - at.matters / most) if at.matters < most else 1e6
        return _run([_discovery(n, each) for n in range(max(1, at.matters))], repeat)

    kind = kind_of(searched(bases, (), 10.0, repeats=3, seed=1), ABOUT)
    points = points_of(ABOUT, kind.run(measure).runs)
    scores = scores_of(points, 10.0)
    assert [score.setting for score in scores] == [one.setting for one in bases]
    for score, most in zip(scores, (30, 15), strict=False):
        assert 0.9 * most <= score.carried <= most < (score.broken or 0) <= 1.1 * most + 1
        assert 5.0 < score.overall_response.median < 20.0
        own = [point.at.matters for point in points if point.at.setting == score.setting]
        assert {0, 4, 8, 16} <= set(own)


def test_steps_of_packages_that_are_absent_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By registrations: review goes on, jobs of these types do not run, and one line says so."""

    def missing(kind: JobType) -> None:
        raise UsageError(f"{kind} is not installed")

    monkeypatch.setattr(workload_module, "types_with", missing)
    steps, line = steps_there()
    assert steps == ()
    assert line.endswith("extraction, processing, export")
    matter = dataclasses.replace(DAY, steps=steps).matters(1, 0)[0]
    assert matter.steps == ()
    assert set(matter.shares) == set(map(str, STEPS))
