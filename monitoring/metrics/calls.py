"""Metrics of storage calls, from the growth that live recorders give."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from core.histogram import Histogram
from core.operations import Op
from monitoring.counters import CounterDelta
from monitoring.metrics.buckets import coarsened, cumulative
from monitoring.metrics.catalogue import SPECS
from monitoring.metrics.collecting import Collector, Metric


class _Sum:
    """Calls of one op so far."""

    __slots__ = ("bytes", "errors", "histogram", "total_ns")

    def __init__(self) -> None:
        self.bytes = 0
        self.errors = 0
        self.total_ns = 0
        self.histogram = Histogram()

    def add(self, delta: CounterDelta) -> None:
        self.bytes += delta.bytes
        self.errors += delta.errors
        self.total_ns += delta.total_ns
        self.histogram.add(delta.histogram)


class CallMetrics(Collector):
    """Calls of all slots of a worker. Every op is there from the start, so that the first call is seen as growth."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # scraped by the server's thread
        self._by_op = {op: _Sum() for op in Op}

    def add(self, deltas: Iterable[CounterDelta]) -> None:
        """What the recorders have counted since the last time."""
        with self._lock:
            for delta in deltas:
                self._by_op[delta.op].add(delta)

    def collect(self) -> Iterator[Metric]:
        """The families."""
        calls, nbytes = SPECS["edbench_calls_total"].counter(), SPECS["edbench_call_bytes_total"].counter()
        errors, latency = SPECS["edbench_call_errors_total"].counter(), SPECS["edbench_call_seconds"].histogram()
        with self._lock:
            for op, sums in self._by_op.items():
                label = (op.label,)
                calls.add_metric(label, sums.histogram.total)
                nbytes.add_metric(label, sums.bytes)
                errors.add_metric(label, sums.errors)
                latency.add_metric(label, *cumulative(coarsened(sums.histogram, sums.total_ns)))
        yield from (calls, nbytes, errors, latency)
