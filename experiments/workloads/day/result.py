"""The result of an experiment with days, and the score: both follow from the recorded jobs alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.job_types import JobType
from core.plain import grouped
from experiments.result import schema
from experiments.result.schema import Estimate
from experiments.result.statistics import estimate
from experiments.result.verdict import overall_response_us
from experiments.workloads.discovery.result import PointSpec

NAME = "day"
IN_TIME = 0.95  # share of discoveries that must end within the bound
SEARCH, TAG = "search", "tag"
P95 = "p95_s_per_gb"


@dataclass(frozen=True, slots=True, order=True)
class DayLoad(PointSpec):
    """A load of so many matters a day; 0: one at a time, each starting when the previous one has ended."""

    matters: int

    def shown(self) -> dict[str, object]:
        """Return the values as tables show them, with a word for 0."""
        return self.values() | ({} if self.matters else {"matters": "alone"})

    def on(self, axis: str) -> str:
        """Return "12 matters/day" or, for 0, "one matter at a time"."""
        if axis != "matters":
            return schema.At.on(self, axis)
        return (
            f"{self.matters:,} matter{'' if self.matters == 1 else 's'}/day" if self.matters else "one matter at a time"
        )

    def __str__(self) -> str:
        return f"{self.on('matters')}, {PointSpec.__str__(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DayJob:
    """One job of a matter, or one review action. Times are seconds since the start of the run."""

    matter: int
    client: str
    source: str
    type: str  # job type, "search" or "tag"
    due_s: float  # planned start: the arrival, later the end of the previous step
    ended_s: float
    raw_bytes: int  # of the matter's loose files
    share: float = 1.0  # of the matter's items that it was given
    items: int = 0
    bytes: int = 0  # discovered, of other jobs written
    cpu_s: float | None = None  # of all workers meanwhile; None: other jobs ran at the same time
    # CPU seconds of databases, queue manager, broker and command; None: as above, or an older version.
    others_cpu_s: float | None = None
    calls: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)  # by phase and op: calls and bytes
    tasks: dict[str, tuple[float, ...]] = field(default_factory=dict)  # by phase: seconds of each task

    @property
    def calls_made(self) -> int:
        """Number of calls of all ops and phases."""
        return sum(number for by_op in self.calls.values() for number, _ in by_op.values())

    @property
    def response_s(self) -> float:
        """Seconds from when it was due to its end, waits included."""
        return self.ended_s - self.due_s

    @property
    def s_per_gb(self) -> float:
        """Response time in seconds for each GB of the matter."""
        return self.response_s / (self.raw_bytes / 1e9)


def storage_share(jobs: Sequence[DayJob], null: Sequence[DayJob]) -> float | None:
    """Return 1 − response times on null storage ÷ response times; the length of a day is that of its schedule."""
    took = sum(job.response_s for job in jobs)
    return 1 - sum(job.response_s for job in null) / took if null and took else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRun(schema.Run):
    """One day. `elapsed_s`: from its start to the end of the last job."""

    within_s_per_gb: float  # the bound
    jobs: tuple[DayJob, ...]
    null: tuple[DayJob, ...] = ()  # the same day on null storage

    def of(self, kind: str) -> list[DayJob]:
        """Return the jobs of one type."""
        return [job for job in self.jobs if job.type == kind]

    @property
    def discoveries(self) -> list[DayJob]:
        """The discoveries, one for each matter."""
        return self.of(JobType.DISCOVERY)

    @property
    def in_time(self) -> int:
        """Number of matters whose discovery ended within the bound."""
        return sum(job.s_per_gb <= self.within_s_per_gb for job in self.discoveries)

    @property
    def storage_share(self) -> float | None:
        """The storage share of all jobs."""
        return storage_share(self.jobs, self.null)


class DayPoint(schema.PointOf[DayLoad, DayRun]):
    """All repeats under one load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Prediction of the simulator for a setting, made before the first run."""

    setting: str | None = None  # as a point has it
    source: str  # the result that it was calibrated by
    carried: int
    curve: tuple[tuple[int, float], ...]  # matters a day, and seconds a GB that 95 % of discoveries end within


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Score of a setting, computed from its curve."""

    setting: str | None = None  # as a point has it
    within_s_per_gb: float
    carried: int  # matters a day: the highest load up to which every load kept the bound; 0: none did
    broken: int | None  # matters a day: the lowest load that did not; None: all did
    overall_response: (
        Estimate | None
    )  # seconds of a discovery, up to `carried` (experiments.result.levels); None: no such load


@dataclass(frozen=True, slots=True, kw_only=True)
class DayResult(schema.ResultOf[DayPoint]):
    """A whole experiment."""

    scores: tuple[Score, ...]  # of each setting, in the order of the points
    predicted: tuple[Prediction, ...] = ()  # the same


def percentile(values: Sequence[float], share: float = IN_TIME) -> float:
    """Return the smallest value that this share of all values does not exceed. Raises ValueError without values."""
    if not values:
        raise ValueError("there is no percentile without values")
    return sorted(values)[math.ceil(share * len(values)) - 1]


def p95_s_per_gb(run: DayRun) -> float | None:
    """Return the seconds for each GB within which 95 % of discoveries ended; None without any."""
    found = [job.s_per_gb for job in run.discoveries]
    return percentile(found) if found else None


def mean_response_s(run: DayRun) -> float | None:
    """Return the mean response time of discoveries; None without any."""
    found = [job.response_s for job in run.discoveries]
    return statistics.fmean(found) if found else None


def fairness(run: DayRun) -> float | None:
    """Return Jain's index over the clients' mean seconds a GB of their discoveries: 1, all wait alike; 1 ÷ clients, one
    waits alone. Return None for one client."""
    by_client = grouped(run.discoveries, lambda job: job.client)
    means = [statistics.fmean(job.s_per_gb for job in jobs) for jobs in by_client.values()]
    if len(means) < 2:
        return None
    return sum(means) ** 2 / (len(means) * sum(mean**2 for mean in means))


def carried_of(p95: Mapping[int, float], bound: float) -> tuple[int, int | None]:
    """Return the highest load up to which all loads kept the bound, and the lowest that did not. `p95`: by load, the
    median of the seconds a GB within which 95 % of discoveries ended."""
    kept, broken = 0, None
    for load in sorted(load for load in p95 if load):
        if p95[load] > bound:
            broken = load
            break
        kept = load
    return kept, broken


def scores_of(points: Sequence[DayPoint], bound: float) -> tuple[Score, ...]:
    """Return the score of each setting; the overall response time is computed from each repeat's own curve."""
    settings = dict.fromkeys(point.at.setting for point in points)
    return tuple(_score([point for point in points if point.at.setting == one], bound) for one in settings)


def _score(points: Sequence[DayPoint], bound: float) -> Score:
    carried, broken = carried_of({point.at.matters: point.figures[P95].median for point in points}, bound)
    curve = sorted((point for point in points if 0 < point.at.matters <= carried), key=lambda point: point.at.matters)
    repeats = [[(point.at.matters, mean_response_s(run) or 0.0) for run in point.repeats] for point in curve]
    overall = [overall_response_us(one) for one in zip(*repeats, strict=True)]
    return Score(
        setting=points[0].at.setting, within_s_per_gb=bound, carried=carried, broken=broken,
        overall_response=estimate(overall) if overall else None,
    )  # fmt: skip
