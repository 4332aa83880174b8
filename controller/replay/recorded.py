"""What a trace says of the storage it was recorded on: the figures that its replay is held against."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from core.histogram import BUCKETS, Histogram, bucket_of
from core.operations import Op, size_class
from monitoring.aggregate import CallSum
from traces.model import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Figures of all streams together."""

    streams: int
    calls: int
    errors: int
    bytes: int
    lost: int  # calls that the trace could not keep
    elapsed_s: float  # from the first call's start to the last one's end
    by_op: dict[Op, CallSum]  # closed-loop latencies, as recorded
    by_second: tuple[int, ...]  # calls that began in each second of the trace

    @property
    def calls_per_second(self) -> float:
        """On average; 0.0 of an empty trace."""
        return self.calls / self.elapsed_s if self.elapsed_s else 0.0


def recorded(trace: Trace) -> Recorded:
    """One pass over the trace, with memory for its seconds only. Raises UsageError when the trace is damaged."""
    by_op: dict[Op, CallSum] = {}
    cells: dict[Op, Counter[int]] = {}
    seconds: Counter[int] = Counter()
    last_ns = 0
    for number in range(len(trace.header.streams)):
        for op, start_ns, duration_ns, nbytes, _, _, _, error, _ in trace.calls(number):
            total = by_op.get(op)
            if total is None:
                total, cells[op] = by_op.setdefault(op, CallSum()), Counter()
            total.calls += 1
            total.bytes += nbytes
            total.errors += 1 if error else 0
            total.total_ns += duration_ns
            if duration_ns > total.max_ns:
                total.max_ns = duration_ns
            cells[op][size_class(nbytes) * BUCKETS + bucket_of(duration_ns)] += 1
            seconds[start_ns // 1_000_000_000] += 1
            if start_ns + duration_ns > last_ns:
                last_ns = start_ns + duration_ns
    for op, counts in cells.items():
        by_op[op].histogram.add(Histogram(counts))
    return Recorded(
        streams=len(trace.header.streams),
        calls=sum(total.calls for total in by_op.values()),
        errors=sum(total.errors for total in by_op.values()),
        bytes=sum(total.bytes for total in by_op.values()),
        lost=trace.header.lost,
        elapsed_s=max(last_ns, trace.header.duration_ns) / 1e9,
        by_op={op: by_op[op] for op in sorted(by_op)},
        by_second=tuple(seconds[second] for second in range(max(seconds, default=-1) + 1)),
    )
