"""Rates and percentiles of a job's storage calls, all derived from table `call_second`.

Latencies are closed-loop: a slot makes its next call only after the last has returned."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.histogram import Histogram
from core.operations import Op
from monitoring.frames import CounterDelta
from sql.connection import Connection
from sql.timeline import CALLS, OpCalls, StepSums


def columns(names: Iterable[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, str]:
    """Return the columns as array literals for `unnest(%(name)s::type[])`. A column has ints, floats, strs or bytes."""
    return {name: array(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def array(values: Sequence[Any]) -> str:
    """Return one column as an array literal."""
    if isinstance(values[0], bytes):
        return "{" + ",".join([f'"\\\\x{value.hex()}"' for value in values]) + "}"
    if isinstance(values[0], str):
        return "{" + ",".join(map(_quoted, values)) + "}"
    return "{" + ",".join(map(str, values)) + "}"


def _quoted(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTotals:
    """Calls of one op that moved bytes of one class of size (core.operations)."""

    calls: int
    p50_us: float
    p99_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTotals:
    """Calls of one op."""

    calls: int
    bytes: int
    errors: int
    p50_us: float  # microseconds, at most 3.2 % off; of all calls, failed ones included
    p99_us: float
    max_us: float  # exact
    sizes: dict[str, SizeTotals] = field(default_factory=dict)  # by class; empty where none moved bytes


@dataclass(slots=True)
class CallSum:
    """Rows of `call_second` added up; histograms are merged, nothing is averaged."""

    calls: int = 0
    bytes: int = 0
    errors: int = 0
    total_ns: int = 0
    max_ns: int = 0
    histogram: Histogram = field(default_factory=Histogram)

    def add(self, row: OpCalls) -> None:
        """Add one more row."""
        self.merge(row, Histogram.decode(row.histogram))

    def merge(self, counts: CallSum | CounterDelta | OpCalls, histogram: Histogram) -> None:
        """Add anything that has the counts, with its histogram decoded."""
        self.calls += counts.calls
        self.bytes += counts.bytes
        self.errors += counts.errors
        self.total_ns += counts.total_ns
        self.max_ns = max(self.max_ns, counts.max_ns)
        self.histogram.add(histogram)

    def totals(self) -> CallTotals:
        """Return the totals and percentiles of the added rows."""
        sizes = self.histogram.by_size().items()
        return CallTotals(
            calls=self.calls,
            bytes=self.bytes,
            errors=self.errors,
            **self._tails(self.histogram),
            max_us=self.max_ns / 1000,
            sizes={size: SizeTotals(calls=of.total, **self._tails(of)) for size, of in sizes},
        )

    def _tails(self, histogram: Histogram) -> dict[str, Any]:
        p50, p99 = histogram.percentiles((50, 99), self.max_ns)
        return {"p50_us": p50 / 1000, "p99_us": p99 / 1000}


def calls_by_op(conn: Connection, job: uuid.UUID) -> dict[str, CallTotals]:
    """Op label → totals over the whole job, in order of op; ops without calls are left out."""
    return totals_by_op(CALLS.call_rows(conn, job=job))


def calls_by_op_of_jobs(jobs: Iterable[tuple[Connection, uuid.UUID]]) -> dict[str, CallTotals]:
    """Return the totals over several jobs together; their histograms are merged, nothing is averaged."""
    return totals_by_op(row for conn, job in jobs for row in CALLS.call_rows(conn, job=job))


def rate_now(conn: Connection, job: uuid.UUID, seconds: int = 5) -> float:
    """Calls a second over each live worker's latest `seconds` (fewer when it has just begun)."""
    now = CALLS.calls_now(conn, job=job, seconds=seconds)
    return now.calls / max(1, min(seconds, now.age))


def sums_of(rows: Iterable[OpCalls]) -> dict[int, CallSum]:
    """Rows of `call_second` added up by op."""
    sums: dict[int, CallSum] = {}
    for row in rows:
        sums.setdefault(row.op, CallSum()).add(row)
    return sums


def totals_by_op(rows: Iterable[OpCalls]) -> dict[str, CallTotals]:
    """Op label → totals of rows of `call_second`, in order of op."""
    sums = sums_of(rows)
    return {Op(op).label: sums[op].totals() for op in sorted(sums)}


STEPS = (1, 4, 20, 120, 1200)  # seconds; a reader takes the first that gives few enough points

Key = tuple[str, int, int, int]  # job, step, its first second, op

_KEYS = ("job", "step", "second", "op")


def step_for(first: int, end: int, points: int) -> int:
    """The shortest step of which at most `points` hold the seconds from `first` to before `end`, or the longest."""
    return next((step for step in STEPS if (end - 1) // step - first // step < points), STEPS[-1])


def add_to_steps(conn: Connection, calls: Iterable[tuple[str, int, Iterable[CounterDelta]]]) -> None:
    """Add calls, each with its job and second, to their steps; the caller holds the lock of collecting."""
    sums = _by_step(calls)
    if not sums:
        return
    keys = list(sums)
    for row in CALLS.call_steps_at(conn, **columns(_KEYS, keys)):
        sums[str(row.job), row.step, row.second, row.op].add(row)
    rows = columns(StepSums.__match_args__, [_row(key, sums[key]) for key in sorted(keys)])
    CALLS.put_call_steps(conn, rows=StepSums(**rows))


def _by_step(calls: Iterable[tuple[str, int, Iterable[CounterDelta]]]) -> dict[Key, CallSum]:
    """Add up the calls by second first, then into the longer steps: workers are many, seconds few."""
    seconds: dict[tuple[str, int, int], CallSum] = {}
    for job, second, deltas in calls:
        for delta in deltas:
            key = (job, second, int(delta.op))
            if (total := seconds.get(key)) is None:
                total = seconds[key] = CallSum()
            total.merge(delta, delta.histogram)
    sums: dict[Key, CallSum] = {}
    for (job, second, op), total in seconds.items():
        for step in STEPS:
            sums.setdefault((job, step, second - second % step, op), CallSum()).merge(total, total.histogram)
    return sums


def _row(key: Key, call_sum: CallSum) -> tuple[Any, ...]:
    p50, p95, p99 = call_sum.histogram.percentiles((50, 95, 99), call_sum.max_ns)
    counts = (call_sum.calls, call_sum.bytes, call_sum.errors, call_sum.total_ns, call_sum.max_ns)
    return (*key, *counts, p50, p95, p99, call_sum.histogram.encode())
