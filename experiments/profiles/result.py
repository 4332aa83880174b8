"""What is observed of every profile's run, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from experiments.result import schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One run. A profile's own has beside what it saw."""

    repeat: int
    order: int
    started_at: float  # wall clock, seconds since the epoch
    elapsed_s: float
    worker_cpu: float  # CPU seconds of those who make the load ÷ (elapsed × processors of the host)
    ceilings: dict[str, float] = field(default_factory=dict)  # figure → the same load's on null storage
    null_elapsed_s: float | None = None  # that the pair took
    filer: dict[str, Any] | None = (
        None  # an emulated filer's stations meanwhile, as `monitoring.observations` tells them
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun(schema.Run):
    """What is told of a run of any profile."""

    ceilings: dict[str, float] = field(default_factory=dict)


def common(seen: Observed) -> dict[str, Any]:
    """The fields that every profile's run has, out of what was observed; latencies are the profile's."""
    return {
        "repeat": seen.repeat,
        "order": seen.order,
        "started_at": seen.started_at,
        "elapsed_s": seen.elapsed_s,
        "worker_cpu": seen.worker_cpu,
        "run_queue_share": None,
        "null_elapsed_s": seen.null_elapsed_s,
        "ceilings": seen.ceilings,
    }
