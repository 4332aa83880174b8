"""Converts merged histograms to the latencies of a result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from core.histogram import Histogram
from experiments.result.codec import decode
from experiments.result.schema import CallTime, Latency, SizedLatency


def latency(calls: int, nbytes: int, errors: int, histogram: Histogram, max_ns: int) -> Latency:
    """Return the latency of one op, or of all calls."""
    p50, p95, p99 = _percentiles(histogram, max_ns)
    return Latency(
        calls=calls,
        bytes=nbytes,
        errors=errors,
        p50_us=p50,
        p95_us=p95,
        p99_us=p99,
        max_us=max_ns / 1000,
        sizes={size: _sized(of, max_ns) for size, of in histogram.by_size().items()},
    )


def _sized(histogram: Histogram, max_ns: int) -> SizedLatency:
    p50, p95, p99 = _percentiles(histogram, max_ns)
    return SizedLatency(calls=histogram.total, p50_us=p50, p95_us=p95, p99_us=p99)


def _percentiles(histogram: Histogram, max_ns: int) -> tuple[float, ...]:
    return tuple(ns / 1000 for ns in histogram.percentiles((50, 95, 99), max_ns))


def call_time_of(job: Mapping[str, Any]) -> CallTime | None:
    """Return the call time of a job or group as printed by `edbench discover -o json`."""
    call_time = job.get("call_time")
    return None if call_time is None else decode(CallTime, call_time, "call_time")


def marked(latencies: Mapping[str, Latency], time: CallTime | None) -> dict[str, Latency]:
    """Mark the percentiles that waiting for a CPU dominates."""
    dominated = {} if time is None else time.dominated
    return {op: dataclasses.replace(one, processor=dominated.get(op, ())) for op, one in latencies.items()}
