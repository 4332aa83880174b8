"""Readings of the databases for the timeline of some jobs, read once for all panels, on an axis of whole seconds of the
database's clock."""

from __future__ import annotations

import bisect
import itertools
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from monitoring.aggregate import CallSum, step_for
from monitoring.observations import ARRAY, BLOCK, DATABASE, EMULATED, SPACE, WIRE, WORKER
from sql.connection import Connection
from sql.timeline import TIMELINE, StepHistogram, StepPercentiles, Tasks, Values

SETTLED_SECONDS = 1.5  # frames and observations of a second are in the database by then


@dataclass(frozen=True, slots=True)
class Axis:
    """Buckets from the first claim on. A bucket of `step` seconds begins at a multiple of it, as stored steps do; the
    first begins with the second of the first claim, the last ends with the data."""

    start: float  # the first claim, seconds since the epoch
    end: int  # the first second after it
    step: int
    skipped: int = 0  # buckets omitted at the beginning: the reader has them

    @property
    def edges(self) -> list[int]:
        """The starts of buckets, and the end of the last one; only [end] if there is none."""
        first = math.floor(self.start)
        aligned = first - first % self.step
        begins = range(aligned + self.skipped * self.step, self.end, self.step)
        return [max(first, begin) for begin in begins] + [self.end]

    @property
    def t(self) -> list[float]:
        """The starts of buckets, in seconds since the first claim."""
        return [round(max(0.0, edge - self.start), 3) for edge in self.edges[:-1]]

    def bucket(self, second: int) -> int:
        """Return the number of the bucket with this second, or of the nearest bucket for a second outside all of them;
        negative if it was skipped."""
        first = math.floor(self.start)
        aligned = first - first % self.step
        second = min(max(second, first), self.end - 1)
        return (second - aligned) // self.step - self.skipped

    def rates(self, sums: Sequence[float]) -> list[float]:
        """Return sums over buckets as rates a second."""
        edges = self.edges
        return [total / (edges[n + 1] - edges[n]) for n, total in enumerate(sums)]


def axis_of(start: float, now: float, finished: float | None, points: int, since: float | None) -> Axis:
    """Return the axis of a job that began at `start`. While it runs, the last second or two are omitted: their data are
    not complete. `since`: only buckets that end later, in seconds since the first claim."""
    end = math.ceil(finished) if finished is not None else math.floor(now - SETTLED_SECONDS)
    end = max(end, math.floor(start) + (1 if finished is not None else 0))
    whole = Axis(start, end, step_for(math.floor(start), end, points))
    if since is None:
        return whole
    ends = whole.edges[1:]
    return Axis(start, end, whole.step, sum(1 for edge in ends if edge - start < since + 0.001))


def gauge(
    axis: Axis,
    readings: Iterable[tuple[int, float]],
    *,
    holds: float = 0.0,
    stops: Sequence[tuple[float, float]] = (),
) -> list[float | None]:
    """Return the mean of the readings (second, value; rising in second) within each bucket. A bucket without a reading
    has the last one before it if that is at most `holds` seconds old, for sources that are read less often than once a
    second. Not during `stops` (from, to), when nothing is read."""
    within: list[list[float]] = [[] for _ in axis.t]
    before: tuple[int, float] | None = None
    for second, value in readings:
        if second < axis.edges[0]:
            before = (second, value)
        elif second < axis.end:
            within[axis.bucket(second)].append(value)
    out: list[float | None] = []
    for begin, end, values in zip(axis.edges, axis.edges[1:], within, strict=False):
        if values:
            out.append(sum(values) / len(values))
            before = (end - 1, values[-1])
        else:
            old = (
                before is None or begin - before[0] > holds or any(low <= begin and end <= high for low, high in stops)
            )
            out.append(None if old or before is None else before[1])
    return out


class Counter:
    """Readings of one counter in order of time."""

    def __init__(self, readings: Iterable[tuple[float, float]], *, taken: float = 1.0) -> None:
        """Create a counter. `readings`: (second, value), rising in second; `taken`: when in its second a reading counts
        as taken."""
        self._taken = taken
        self._at: list[float] = []
        self._value: list[float] = []
        self._resets: set[int] = set()  # indexes of readings before which the counter was reset
        for second, value in readings:
            if self._value and value < self._value[-1]:
                self._resets.add(len(self._value))
            self._at.append(second + taken)
            self._value.append(value)

    def value(self, at: float) -> float | None:
        """Return the value at a moment; None outside the readings and where the counter was reset."""
        after = bisect.bisect_left(self._at, at)
        if after == len(self._at):
            return None
        if self._at[after] == at:
            return self._value[after]
        if after == 0 or after in self._resets:
            return None
        share = (at - self._at[after - 1]) / (self._at[after] - self._at[after - 1])
        return self._value[after - 1] + share * (self._value[after] - self._value[after - 1])

    def until(self, at: float) -> float | None:
        """Return the value at a moment, as `value`; after the last reading the value of that reading."""
        return self._value[-1] if self._at and at >= self._at[-1] else self.value(at)

    def after_nothing(self, second: int) -> Counter:
        """Return the same counter with a reading of 0 before the others."""
        known = ((at - self._taken, value) for at, value in zip(self._at, self._value, strict=True))
        return Counter([(second, 0.0), *known], taken=self._taken)

    def grown(self, low: float, high: float) -> tuple[float, float]:
        """Return (growth, seconds) of the known part between two moments; seconds are 0 if nothing is known."""
        growth = seconds = 0.0
        first = max(1, bisect.bisect_right(self._at, low))
        for after in range(first, len(self._at)):
            begin, end = max(low, self._at[after - 1]), min(high, self._at[after])
            if begin >= high:
                break
            if end <= begin or after in self._resets:
                continue
            share = (end - begin) / (self._at[after] - self._at[after - 1])
            growth += share * (self._value[after] - self._value[after - 1])
            seconds += end - begin
        return growth, seconds

    def rates(self, edges: Sequence[int]) -> list[float | None]:
        """Return growth a second within each bucket between neighbouring edges, over the known part."""
        known = {} if self._resets else dict(zip(self._at, self._value, strict=True))
        out: list[float | None] = []
        for low, high in itertools.pairwise(edges):
            begin, end = known.get(low), known.get(high)
            if begin is not None and end is not None:  # mostly: there is a reading each second
                out.append((end - begin) / (high - low))
                continue
            growth, seconds = self.grown(low, high)
            out.append(growth / seconds if seconds else None)
        return out


def added(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Add series point by point; None only if no series has a value."""
    out: list[float | None] = []
    for column in zip(*rows, strict=True):
        known = [value for value in column if value is not None]
        out.append(sum(known) if known else None)
    return out


def ratio(over: Sequence[float | None], under: Sequence[float | None]) -> list[float | None]:
    """Divide one series by another; None if either is unknown or the divisor is 0."""
    return [a / b if a is not None and b else None for a, b in zip(over, under, strict=True)]


_HOST_KINDS = (WORKER, WIRE, BLOCK, SPACE)  # every database has them: one is read
_GAUGES = (EMULATED,)  # no counters: every reading is needed
_BEFORE_SECONDS = 15  # before the first bucket: readings to grow from, and the time of "now"
_QUEUE_BEFORE_SECONDS = 60  # the same for the queue, which may be read seldom
_AFTER_SECONDS = 3  # after the end of a job: its last state is observed within that

Readings = Sequence[tuple[int, Values]]  # of one source, in order of time
JobAt = tuple[Connection, uuid.UUID]  # a job, and a connection to its database


@dataclass(slots=True)
class TimelineData:
    """All readings on the axis."""

    axis: Axis
    calls: list[StepPercentiles]
    queue: list[list[Tasks]] = field(default_factory=list)  # of each job
    progress: list[Readings] = field(default_factory=list)  # of each job
    sources: dict[str, dict[str, list[tuple[int, Values]]]] = field(default_factory=dict)  # kind → source → readings

    def of(self, kind: str) -> Mapping[str, Readings]:
        """Return the readings of a kind by source, in order of name."""
        return dict(sorted(self.sources.get(kind, {}).items()))


def counter(readings: Readings, value: Callable[[Values], float | None], *, by_second: bool = False) -> Counter:
    """Return the counter of one value of readings, without those that lack it. Each reading counts at the moment of its
    second when it was taken, so that no rate exceeds the possible; `by_second`: at the end of its second, like the
    calls collected with it."""
    points = ((second if by_second else _moment(second, values), value(values)) for second, values in readings)
    return Counter((second, known) for second, known in points if known is not None)


def _moment(second: int, values: Values) -> float:
    """Return when a reading was taken, on the counter's scale, where a reading counts at the end of its second. The
    database's own readings, and older ones, have no time within the second."""
    taken: float = values.get("taken", 1.0)
    return second - 1 + taken


def number(key: str, scale: float = 1.0) -> Callable[[Values], float | None]:
    """Return a function that gives one number of a reading, divided by `scale`; None if the reading lacks it."""

    def value(values: Values) -> float | None:
        reading = values.get(key)
        return reading / scale if isinstance(reading, int | float) else None

    return value


def read_all(jobs: Sequence[JobAt], axis: Axis, witness: int = 0) -> TimelineData:
    """Read the data for the buckets of the axis; `witness`: the job that runs longest, whose database has all
    observations of hosts meanwhile. Raises DatabaseFault."""
    data = TimelineData(axis, _calls(jobs, axis))
    low = axis.edges[0]
    for place, (conn, job) in enumerate(jobs):
        queue_low = low - low % axis.step - _QUEUE_BEFORE_SECONDS
        data.queue.append(TIMELINE.timeline_queue(conn, job=job, step=axis.step, low=queue_low))
        data.progress.append(TIMELINE.timeline_progress(conn, job=job, step=axis.step, low=low - _BEFORE_SECONDS))
        _arrays(conn, job, data)
        _sources(conn, [DATABASE, *(_HOST_KINDS if place == witness else ())], axis.step, data)
        if place == witness:
            _sources(conn, _GAUGES, 1, data)
    return data


def _calls(jobs: Sequence[JobAt], axis: Axis) -> list[StepPercentiles]:
    where = {"step": axis.step, "low": axis.edges[0] - axis.edges[0] % axis.step}
    if len(jobs) == 1:
        return TIMELINE.timeline_calls(jobs[0][0], job=jobs[0][1], **where)
    return merge_calls(row for conn, job in jobs for row in TIMELINE.timeline_call_histograms(conn, job=job, **where))


def _sources(conn: Connection, kinds: Sequence[str], step: int, timeline_data: TimelineData) -> None:
    axis = timeline_data.axis
    low, high = axis.edges[0] - _BEFORE_SECONDS - axis.step, axis.end + _AFTER_SECONDS
    rows = TIMELINE.timeline_readings(
        conn, kinds=list(kinds), step=step, low=low, high=high, first=axis.edges[0] + 1, last=axis.end - 2
    )
    for row in rows:
        timeline_data.sources.setdefault(row.kind, {}).setdefault(row.source, []).append((row.second, row.values))


def _arrays(conn: Connection, job: uuid.UUID, timeline_data: TimelineData) -> None:
    """Read the values imported for the job (controller.arrays): gauges, at the seconds of the array's readings."""
    low, high = timeline_data.axis.edges[0], timeline_data.axis.end
    for row in TIMELINE.array_readings(conn, job=job, low=low, high=high):
        timeline_data.sources.setdefault(ARRAY, {}).setdefault(row.source, []).append((row.second, row.values))


def merge_calls(rows: Iterable[StepHistogram]) -> list[StepPercentiles]:
    """Merge rows with histograms of several jobs, by second and op."""
    sums: dict[tuple[int, int], CallSum] = {}
    for row in rows:
        sums.setdefault((row.second, row.op), CallSum()).add(row)
    out = []
    for (second, op), s in sorted(sums.items()):
        p50, p95, p99 = s.histogram.percentiles((50, 95, 99), s.max_ns)
        out.append(StepPercentiles(second, op, s.calls, s.bytes, s.errors, s.total_ns, s.max_ns, p50, p95, p99))
    return out
