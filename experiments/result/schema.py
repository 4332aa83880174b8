"""The result of an experiment: `result.json`, schema `edbench-result/2`. Reports, `compare`, the web UI read only this.

Every workload has a `Run` of its own with what else it measures, a `Point` and a `Result` over it, and an `At` that
names the loads that it can be put under; these here are what all have in common."""

from __future__ import annotations

import dataclasses
import types
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, TypeVar

from core.bounds import Outcome

SCHEMA: Final = "edbench-result/2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The median of repeats with a distribution-free interval from order statistics (`experiments.result.statistics`)."""

    median: float
    low: float | None  # None with one value: there is no interval then
    high: float | None
    coverage: float | None  # probability that the interval holds the true median: 0.75 with 3 values, ≥ 0.95 from 6
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedLatency:
    """Latency of those calls of an op that moved bytes of one class of size (core.operations)."""

    calls: int
    p50_us: float
    p95_us: float
    p99_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Latency of one op over some time, microseconds; percentiles at most 3.2 % off, max exact."""

    calls: int
    bytes: int
    errors: int
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float
    processor: tuple[str, ...] = ()  # of p50, p95 and p99 those of which waiting for a CPU is more than half
    sizes: dict[str, SizedLatency] = field(default_factory=dict)  # by class; empty in results of older versions


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTime:
    """Parts of the time inside storage calls, in seconds summed over the processes that made them."""

    call_s: float
    service_s: float  # the rest; of real storage with its own queues
    queue_s: float | None  # in the queues of an emulated filer; None: real storage, whose queues are not visible
    processor_s: float  # waiting for a CPU
    exact: bool  # measured at each call; else estimated from the run-queue delay of slots (docs/labels.md)
    dominated: dict[str, tuple[str, ...]]  # op label → percentiles, as `Latency.processor` has them


@dataclass(frozen=True, slots=True, kw_only=True)
class Steady:
    """Steadiness of one interval of a run (`experiments.result.steady`)."""

    what: str  # "calls of index", "calls": of which the rate is
    start_s: float  # of what is judged: without the first and the last tenth of the interval
    seconds: float
    rate: float  # a second, the mean of the rounds
    spread: float  # largest less smallest round ÷ rate
    drift: float  # change along the line through the rounds ÷ rate
    drift_low: float  # its 95 % interval
    drift_high: float
    steady: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayUse:
    """Counts of the array itself of one quantity over a run."""

    name: str
    unit: str
    mean: float
    peak: float


@dataclass(frozen=True, slots=True)
class At:
    """The load of a point. A workload's own class has a field for everything that it can vary."""

    def values(self) -> dict[str, Any]:
        """Return the set values by name, in the order in which they are shown."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    def shown(self) -> dict[str, object]:
        """Return the values as tables show them: bytes in their unit."""
        return self.values()

    def on(self, axis: str) -> str:
        """Return the value of one field in words: "4 clients"."""
        value = self.values()[axis]
        return f"{value:,} {axis if value != 1 else axis.removesuffix('s')}"

    def without(self, axis: str) -> dict[str, Any]:
        """Return the values without that of the axis."""
        return {name: value for name, value in self.values().items() if name != axis}

    def __str__(self) -> str:
        parts = ((name.removesuffix("s") if value == 1 else name, value) for name, value in self.values().items())
        return ", ".join(f"{value} {name}" if isinstance(value, int) else str(value) for name, value in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a point on the storage under test."""

    repeat: int  # 0, 1, …
    order: int  # position in the order in which the whole experiment was run, 0, 1, …
    started_at: float  # wall clock, seconds since the epoch; of `elapsed_s`
    elapsed_s: float
    worker_cpu: float  # CPU seconds of those who make the load ÷ (elapsed × CPUs of the host), 0…1
    run_queue_share: float | None  # seconds they waited for a CPU ÷ seconds inside calls; None without call time
    null_elapsed_s: float | None  # the run on null storage; None where there is no null baseline
    latency: dict[str, Latency]  # over the whole run, by op label: what bounds on p99 are compared with
    call_time: CallTime | None = None  # None: not known, and in results of older versions
    steady: tuple[Steady, ...] = ()  # by interval; empty where none is long enough, and in results of older versions
    array: tuple[ArrayUse, ...] = ()  # empty where none were given


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """All repeats under one load."""

    at: At
    figures: dict[str, Estimate]  # over the repeats, by the names that the workload gives them
    limited: bool  # GENERATOR-LIMITED: no verdict on the storage
    limits: tuple[str, ...]  # the reasons, one line each
    repeats: tuple[Run, ...]
    short: bool = False  # SHORT: a run was under the least length
    unsteady: tuple[str, ...] = ()  # NOT STEADY: why, a line for each run and interval; of a short point not judged

    @property
    def marks(self) -> tuple[str, ...]:
        """The labels of the point itself, as every table shows them."""
        given = (("SHORT", self.short), ("NOT STEADY", self.unsteady), ("GENERATOR-LIMITED", self.limited))
        return tuple(name for name, holds in given if holds)


_At = TypeVar("_At", bound=At)
_Run = TypeVar("_Run", bound=Run)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointOf(Point, Generic[_At, _Run]):
    """The point of a workload with its own load and run."""

    at: _At
    repeats: tuple[_Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Result of kind `knee`: indexes into `Result.points`, which are then in order of load, for each setting."""

    bounds_us: dict[str, float]  # op label → bound on its p99
    peak: int  # the point of the highest rate; the load is raised past a broken bound until no more is gained
    knee: int | None  # the last point that keeps every bound; None when not even the first does
    broken: str | None  # what broke first: "write p99 41.20 ms over 40.00 ms at 4 workers"; None: nothing did


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of kind `load`: medians over its repeats, calls a second."""

    percent: int  # of the peak
    point: int  # index into `Result.points`
    offered: float
    achieved: float
    reached: bool  # no more is missing than the tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """Result of kind `load`: offered against achieved, lowest level first (`experiments.result.verdict`)."""

    peak: int  # calls a second
    found: bool  # by runs as fast as they go, the first point; else it was stated
    tolerance: float  # of the offered load, that may be missing from the achieved one
    levels: tuple[Level, ...]
    up_to: (
        int | None
    )  # percent of the peak: the last level before one that was not reached; None: not even the first was
    by_repeat_us: tuple[float, ...]  # overall response time up to there, of each repeat's own curve
    overall_us: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Ratio of one set of repeats to another; `low` and `high` hold the true ratio with probability `coverage` or
    more."""

    ratio: float
    low: float
    high: float
    coverage: float
    p: float  # of this one comparison, before Holm's correction
    least_p: float  # the least p that so many repeats can have


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Result of kind `tune`: indexes into `Result.points`."""

    default: int
    best: int
    rounds: tuple[tuple[int, ...], ...]  # the points that were measured in each
    compared: int  # the last so many repeats of both are those of the comparison
    gain: Ratio | None = None  # the rate with the best setting to that with the default; None: too few repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A whole experiment. `conditions` is design §7's disclosure."""

    schema: Literal["edbench-result/2"] = SCHEMA
    workload: str
    kind: Literal["scale-up", "scale-out", "knee", "sweep", "load", "r1", "profile", "stages", "tune"]
    axis: str  # what was varied: a field of the points' `at`
    run_id: str
    created: float  # wall clock, seconds since the epoch
    verdict: str  # the first line, labels before everything else: CACHED, EMULATED FILER …, GENERATOR-LIMITED
    labels: tuple[str, ...]  # the labels of the verdict one by one
    warnings: tuple[str, ...]
    conditions: dict[str, Any]
    points: tuple[Point, ...]
    knee: Knee | None = None  # None where several settings have one each
    knees: tuple[Knee, ...] = ()  # of each setting, in the order of the points, where there are several
    levels: Levels | None = None
    tuning: Tuning | None = None
    bounds: tuple[Outcome, ...] = ()  # those of --fail-if

    @property
    def knees_found(self) -> tuple[Knee, ...]:
        """The knees of all settings; empty for other kinds."""
        return self.knees if self.knee is None else (self.knee,)


_Point = TypeVar("_Point", bound=Point)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOf(Result, Generic[_Point]):
    """The result of a workload with points of its own."""

    points: tuple[_Point, ...]


def types_of(load: type[At], run: type[Run]) -> tuple[type[Point], type[Result]]:
    """Return the point and result types of a workload that adds nothing to them; in the JSON schema they are named
    after the load."""

    def named(kind: str, base: Any) -> Any:
        of = {"__doc__": base.__origin__.__doc__, "__module__": run.__module__}
        name = f"{load.__name__.removesuffix('Load')}{kind}"
        return types.new_class(name, (base,), exec_body=lambda body: body.update(of))

    point = named("Point", PointOf[load, run])  # type: ignore[valid-type]  # types that are values here
    return point, named("Result", ResultOf[point])  # type: ignore[valid-type]
