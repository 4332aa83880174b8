"""What the databases hold of some jobs' time, read once for all panels."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from controller.timeline.axis import Axis
from controller.timeline.counters import Counter
from monitoring.aggregate import CallSum
from monitoring.observations import ARRAY, BLOCK, DATABASE, EMULATED, SPACE, WIRE, WORKER
from sql.timeline import TIMELINE, StepHistogram, StepPercentiles, Tasks, Values

_OF_HOSTS = (WORKER, WIRE, BLOCK, SPACE)  # every database has them: one is asked
_GAUGES = (EMULATED,)  # no counters: every reading is needed
_BEFORE_SECONDS = 15  # before the first bucket: readings to grow from, and what "now" looks back over
_QUEUE_BEFORE_SECONDS = 60  # the same for the queue, which may be looked at seldom
_AFTER_SECONDS = 3  # after the end of a job: its last state is observed within that

Readings = Sequence[tuple[int, Values]]  # of one source, in order of time
JobAt = tuple[Connection, uuid.UUID]  # a job, and a connection to its database


@dataclass(slots=True)
class TimelineData:
    """Everything on the axis."""

    axis: Axis
    calls: list[StepPercentiles]
    queue: list[list[Tasks]] = field(default_factory=list)  # of each job
    progress: list[Readings] = field(default_factory=list)  # of each job
    sources: dict[str, dict[str, list[tuple[int, Values]]]] = field(default_factory=dict)  # kind → source → readings

    def of(self, kind: str) -> Mapping[str, Readings]:
        """Readings by source, in order of name."""
        return dict(sorted(self.sources.get(kind, {}).items()))


def counter(readings: Readings, value: Callable[[Values], float | None], *, by_second: bool = False) -> Counter:
    """One value of readings; those that do not have it are left out. Each counts where in its second it was taken, so that
    no rate is more than there can be; `by_second`: at its end, as the calls that were collected with it do."""
    points = ((second if by_second else _moment(second, values), value(values)) for second, values in readings)
    return Counter((second, known) for second, known in points if known is not None)


def _moment(second: int, values: Values) -> float:
    """A counter takes a reading as of the end of the second; the database's own, and older ones, do not say when in it."""
    taken: float = values.get("taken", 1.0)
    return second - 1 + taken


def number(key: str, scale: float = 1.0) -> Callable[[Values], float | None]:
    """One number of a reading, divided by `scale`; None where it does not have it."""

    def value(values: Values) -> float | None:
        reading = values.get(key)
        return reading / scale if isinstance(reading, int | float) else None

    return value


def read_all(jobs: Sequence[JobAt], axis: Axis, witness: int = 0) -> TimelineData:
    """Read what the buckets of the axis need; `witness`: the job that runs longest, whose database has all that was
    observed of hosts meanwhile. Raises DatabaseFault."""
    data = TimelineData(axis, _calls(jobs, axis))
    low = axis.edges[0]
    for place, (conn, job) in enumerate(jobs):
        queue_low = low - low % axis.step - _QUEUE_BEFORE_SECONDS
        data.queue.append(TIMELINE.timeline_queue(conn, job=job, step=axis.step, low=queue_low))
        data.progress.append(TIMELINE.timeline_progress(conn, job=job, step=axis.step, low=low - _BEFORE_SECONDS))
        _arrays(conn, job, data)
        _sources(conn, [DATABASE, *(_OF_HOSTS if place == witness else ())], axis.step, data)
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
    """What was imported for the job (controller.arrays): gauges, at whatever seconds the array has."""
    low, high = timeline_data.axis.edges[0], timeline_data.axis.end
    for row in TIMELINE.array_readings(conn, job=job, low=low, high=high):
        timeline_data.sources.setdefault(ARRAY, {}).setdefault(row.source, []).append((row.second, row.values))


def merge_calls(rows: Iterable[StepHistogram]) -> list[StepPercentiles]:
    """Rows with histograms of several jobs, merged by second and op."""
    sums: dict[tuple[int, int], CallSum] = {}
    for row in rows:
        sums.setdefault((row.second, row.op), CallSum()).add(row)
    out = []
    for (second, op), s in sorted(sums.items()):
        p50, p95, p99 = s.histogram.percentiles((50, 95, 99), s.max_ns)
        out.append(StepPercentiles(second, op, s.calls, s.bytes, s.errors, s.total_ns, s.max_ns, p50, p95, p99))
    return out
