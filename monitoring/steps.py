"""Calls summed over steps of time of several lengths, kept up to date as they are stored (table `call_step`).

A timeline draws hours from a few hundred steps; percentiles cannot be had from those of shorter steps, and merging an
hour's histograms takes seconds. So they are merged here, once, while each frame is at hand anyway.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from monitoring.aggregate import CallSum
from monitoring.arrays import columns
from monitoring.counters import CounterDelta
from sql.faces.calls import CALLS

STEPS = (1, 4, 20, 120, 1200)  # seconds; a reader takes the first that gives few enough points

Key = tuple[str, int, int, int]  # job, step, its first second, op

_KEYS = ("job", "step", "second", "op")
_COLUMNS = (
    *_KEYS,
    *("calls", "bytes", "errors", "total_ns", "max_ns", "p50_ns", "p95_ns", "p99_ns", "histogram"),
)


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
    CALLS.put_call_steps(conn, **columns(_COLUMNS, [_row(key, sums[key]) for key in sorted(keys)]))


def _by_step(calls: Iterable[tuple[str, int, Iterable[CounterDelta]]]) -> dict[Key, CallSum]:
    """Seconds first, then what they come to into the longer steps: workers are many, seconds few."""
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
