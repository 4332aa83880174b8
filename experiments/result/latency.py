"""Merged histograms as the latencies of a result."""

from __future__ import annotations

from core.histogram import Histogram
from experiments.result.schema import Latency


def latency(calls: int, nbytes: int, errors: int, histogram: Histogram, max_ns: int) -> Latency:
    """One op's, or all calls'."""
    p50, p95, p99 = (ns / 1000 for ns in histogram.percentiles((50, 95, 99), max_ns))
    return Latency(calls=calls, bytes=nbytes, errors=errors, p50_us=p50, p95_us=p95, p99_us=p99, max_us=max_ns / 1000)
