"""Prometheus metrics of one worker process, in a registry that the caller gives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, start_http_server
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from core.errors import UsageError
from core.operations import Op
from core.records import Phase
from monitoring.counters import CounterDelta
from monitoring.histogram import Histogram

# Powers of two of nanoseconds, 16 µs to 17 s: bounds of our own buckets too, so the counts are exact.
_BOUNDS_NS = tuple(1 << bits for bits in range(14, 35, 2))


class _Latencies(Collector):
    """Latency histograms by op; the client's own Histogram cannot take many calls at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # scraped by the server's thread
        self._by_op: dict[Op, tuple[Histogram, int]] = {}

    def add(self, delta: CounterDelta) -> None:
        with self._lock:
            histogram, total_ns = self._by_op.get(delta.op, (Histogram(), 0))
            histogram.add(delta.histogram)
            self._by_op[delta.op] = histogram, total_ns + delta.total_ns

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "edbench_call_seconds", "Latency of storage calls (closed loop)", labels=["op"], unit="seconds"
        )
        with self._lock:
            for op, (histogram, total_ns) in sorted(self._by_op.items()):
                buckets = [(repr(bound / 1e9), float(histogram.at_most(bound))) for bound in _BOUNDS_NS]
                buckets.append(("+Inf", float(histogram.total)))
                family.add_metric([op.label], buckets, total_ns / 1e9)
        yield family


class WorkerMetrics:
    """Calls, tasks and items of one worker; all of its slots together."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._calls = Counter("edbench_calls", "Storage calls", ["op"], registry=registry)
        self._bytes = Counter("edbench_call_bytes", "Bytes moved by storage calls", ["op"], registry=registry)
        self._errors = Counter("edbench_call_errors", "Storage calls that failed", ["op"], registry=registry)
        self._tasks = Counter("edbench_tasks", "Tasks that ended", ["phase", "outcome"], registry=registry)
        self._items = Counter("edbench_items", "Items worked on", ["phase"], registry=registry)
        self._latencies = _Latencies()
        registry.register(self._latencies)

    def observe(self, deltas: Iterable[CounterDelta]) -> None:
        """Add what the live recorders have counted since the last time."""
        for delta in deltas:
            label = delta.op.label
            self._calls.labels(label).inc(delta.calls)
            self._bytes.labels(label).inc(delta.bytes)
            self._errors.labels(label).inc(delta.errors)
            self._latencies.add(delta)

    def task_ended(self, phase: Phase, outcome: str, items: int = 0) -> None:
        """One task more; `outcome` is a word such as done, lost, failed."""
        self._tasks.labels(phase.value, outcome).inc()
        if items:
            self._items.labels(phase.value).inc(items)

    def start_server(self, port: int, address: str = "127.0.0.1") -> Callable[[], None]:
        """Serve `/metrics` from a thread; 0 is off. Returns what stops it; raises UsageError if it cannot listen."""
        if port == 0:
            return _nothing
        try:
            server, thread = start_http_server(port, addr=address, registry=self._registry)
        except OSError as e:
            raise UsageError(
                f"cannot serve metrics on {address}:{port}: {e.strerror}; choose another port, or 0 for none"
            ) from e

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop


def _nothing() -> None:
    return None
