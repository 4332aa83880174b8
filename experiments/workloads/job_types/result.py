"""What a study of job types adds to a result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from experiments.result import schema
from experiments.workloads.discovery.phase_use import PhaseUse
from experiments.workloads.discovery.result import FilerSecond

NAME = "job-types"
KEPT = ("type", "workers", "slots", "items", "calls_complete", "filer")


@dataclass(frozen=True, slots=True, order=True)
class TypeLoad(schema.At):
    """A type of job, done by so many workers."""

    type: str
    workers: int

    def on(self, axis: str) -> str:
        """A type is itself."""
        return self.type if axis == "type" else schema.At.on(self, axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRun(schema.Run):
    """One job."""

    items: int
    calls: int
    read_bytes: int
    written_bytes: int
    cpu_s: float  # of all worker processes, boxes included
    storage_s: float | None  # inside storage calls, waiting for a processor left out; None: not known
    # What predictions are calibrated on; empty in results of older versions.
    phases: tuple[PhaseUse, ...] = ()
    host_cpu: float | None = None  # share of all the host's processors that were busy, with whatever, 0…1
    filer: tuple[FilerSecond, ...] = ()  # stations of an emulated filer
    # Of the job's figures those of `KEPT`; bytes are the data set's.
    result: dict[str, Any] = field(default_factory=dict)


class TypePoint(schema.PointOf[TypeLoad, TypeRun]):
    """All repeats under one load."""


class TypeResult(schema.ResultOf[TypePoint]):
    """A whole experiment."""
