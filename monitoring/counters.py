"""Growth of call counters over some interval: what recorders give and everything above adds up."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.histogram import Histogram
from core.operations import Op
from core.records import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterDelta:
    """Calls of one op made for one phase of one job during some interval."""

    job: uuid.UUID
    phase: Phase
    op: Op
    calls: int
    bytes: int
    errors: int
    total_ns: int  # sum of durations
    max_ns: int  # see monitoring.live for how exact
    histogram: Histogram


def merge_deltas(deltas: Iterable[CounterDelta]) -> list[CounterDelta]:
    """One delta for each (job, phase, op), in order of first appearance."""
    out: dict[tuple[uuid.UUID, Phase, Op], CounterDelta] = {}
    for delta in deltas:
        key = (delta.job, delta.phase, delta.op)
        have = out.get(key)
        out[key] = _sum(have, delta) if have else replace(delta, histogram=Histogram(delta.histogram.cells))
    return list(out.values())


def _sum(a: CounterDelta, b: CounterDelta) -> CounterDelta:
    a.histogram.add(b.histogram)
    return replace(
        a,
        calls=a.calls + b.calls,
        bytes=a.bytes + b.bytes,
        errors=a.errors + b.errors,
        total_ns=a.total_ns + b.total_ns,
        max_ns=max(a.max_ns, b.max_ns),
    )
