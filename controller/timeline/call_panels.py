"""Panels of storage calls: how many, and how long they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.timeline.axis import Axis
from controller.timeline.model import Panel, Series
from core.operations import Op
from sql.faces.timeline import StepPercentiles

_PERCENTILES = (("p50", "p50_ns"), ("p95", "p95_ns"), ("p99", "p99_ns"))


def call_panels(axis: Axis, rows: Sequence[StepPercentiles], ops: Sequence[int]) -> Iterator[Panel]:
    """`calls`, then `latency_<op>` for each of `ops`: those that the jobs have called so far."""
    size = len(axis.t)
    sums = {op: [0.0] * size for op in ops}
    latencies: dict[tuple[int, str], list[float | None]] = {
        (op, name): [None] * size for op in ops for name, _ in _PERCENTILES
    }
    for row in rows:
        bucket = axis.bucket(row.second)
        if not 0 <= bucket < size or row.op not in sums:
            continue
        sums[row.op][bucket] += row.calls
        if row.calls:
            for name, column in _PERCENTILES:
                latencies[row.op, name][bucket] = getattr(row, column) / 1000
    yield Panel(
        "calls",
        "Storage calls/second",
        "calls/s",
        "stacked",
        [Series(Op(op).label, Op(op).label, axis.rates(sums[op])) for op in ops],
    )
    for op in ops:
        label = Op(op).label
        series = [Series(name, name, latencies[op, name]) for name, _ in _PERCENTILES]
        yield Panel(f"latency_{label}", f"Latency of {label} (closed loop)", "µs", "line", series)


def read_bytes(axis: Axis, rows: Sequence[StepPercentiles]) -> list[float | None]:
    """Bytes a second that calls read."""
    sums = [0.0] * len(axis.t)
    for row in rows:
        bucket = axis.bucket(row.second)
        if row.op == Op.READ and 0 <= bucket < len(sums):
            sums[bucket] += row.bytes
    return list(axis.rates(sums))
