"""Counted calls as the latencies of a result."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.clients.tally import Counted
from experiments.result.latency import latency
from experiments.result.schema import Latency


def latencies(counted: Iterable[Counted]) -> dict[str, Latency]:
    """By label."""
    return {
        one.label: latency(one.calls, one.bytes, one.errors, one.histogram, one.max_ns) for one in counted if one.calls
    }
