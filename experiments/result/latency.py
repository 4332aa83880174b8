"""Converts merged histograms to the latencies of a result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from core.histogram import Histogram
from experiments.result.codec import decode
from experiments.result.schema import CallTime, Latency, SizedLatency

_P = (50, 95, 99)


def latency(calls: int, nbytes: int, errors: int, histogram: Histogram, max_ns: int) -> Latency:
    """Return the latency of one op, or of all calls."""
    sizes = histogram.by_size().items()
    return Latency(
        calls=calls,
        bytes=nbytes,
        errors=errors,
        **_percentiles(histogram, max_ns),
        max_us=max_ns / 1000,
        sizes={size: SizedLatency(calls=of.total, **_percentiles(of, max_ns)) for size, of in sizes},
    )


def _percentiles(histogram: Histogram, max_ns: int) -> dict[str, Any]:
    return {f"p{p}_us": ns / 1000 for p, ns in zip(_P, histogram.percentiles(_P, max_ns), strict=True)}


def call_time_of(job: Mapping[str, Any]) -> CallTime | None:
    """Return the call time of a job or group as printed by `edbench discover -o json`."""
    call_time = job.get("call_time")
    return None if call_time is None else decode(CallTime, call_time, "call_time")


def marked(latencies: Mapping[str, Latency], time: CallTime | None) -> dict[str, Latency]:
    """Mark the percentiles that waiting for a CPU dominates."""
    dominated = {} if time is None else time.dominated
    return {op: dataclasses.replace(one, processor=dominated.get(op, ())) for op, one in latencies.items()}
