"""monitoring.metrics: a real scrape of a worker's metrics."""

from __future__ import annotations

import socket
import urllib.request
import uuid

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from core.errors import UsageError
from core.operations import Op
from core.records import Phase
from monitoring.counters import CounterDelta
from monitoring.histogram import Histogram
from monitoring.metrics import WorkerMetrics


def delta(values: list[int]) -> CounterDelta:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    return CounterDelta(
        job=uuid.UUID(int=1),
        phase=Phase.INDEX,
        op=Op.READ,
        calls=len(values),
        bytes=10 * len(values),
        errors=1,
        total_ns=sum(values),
        max_ns=max(values),
        histogram=histogram,
    )


def samples(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    text = generate_latest(registry).decode()
    return {
        (s.name, s.labels.get("le", "")): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def test_calls_and_latencies_add_up() -> None:
    """Counters and the cumulative histogram say what the recorders counted."""
    registry = CollectorRegistry()
    metrics = WorkerMetrics(registry)
    metrics.observe([delta([1_000, 300_000]), delta([2_000_000_000, 1 << 50])])
    metrics.task_ended(Phase.INDEX, "done", items=7)
    found = samples(registry)
    assert found["edbench_calls_total", ""] == 4
    assert found["edbench_call_bytes_total", ""] == 40
    assert found["edbench_call_errors_total", ""] == 2
    assert found["edbench_tasks_total", ""] == 1
    assert found["edbench_items_total", ""] == 7
    assert found["edbench_call_seconds_bucket", "1.6384e-05"] == 1
    assert found["edbench_call_seconds_bucket", "0.001048576"] == 2
    assert found["edbench_call_seconds_bucket", "17.179869184"] == 3
    assert found["edbench_call_seconds_bucket", "+Inf"] == 4
    assert found["edbench_call_seconds_count", ""] == 4
    assert found["edbench_call_seconds_sum", ""] == pytest.approx((301_000 + 2_000_000_000 + (1 << 50)) / 1e9)


def test_the_server_serves_and_a_busy_port_is_a_usage_error() -> None:
    """`/metrics` answers over HTTP; a port in use gives one clear line; 0 is off."""
    metrics = WorkerMetrics(CollectorRegistry())
    metrics.start_server(0)()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stop = metrics.start_server(port)
    try:
        metrics.observe([delta([5_000])])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
            assert b'edbench_calls_total{op="read"} 1.0' in reply.read()
        with pytest.raises(UsageError, match="choose another port"):
            WorkerMetrics(CollectorRegistry()).start_server(port)
    finally:
        stop()
