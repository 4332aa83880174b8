"""What an experiment with job types adds to a result."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.result import schema

NAME = "job-types"


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
    storage_s: float | None  # inside storage calls, without waits for a CPU; None: not known


class TypePoint(schema.PointOf[TypeLoad, TypeRun]):
    """All repeats under one load."""


class TypeResult(schema.ResultOf[TypePoint]):
    """A whole experiment."""
