"""What profile `matrix` adds to the result of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.profiles.fio import output
from experiments.profiles.fio.output import Done, FioSeen
from experiments.profiles.result import ProfileRun, common
from experiments.result import schema

NAME = "matrix"
OPS = ("write", "rewrite", "read", "reread")  # in this order
COARSE_S = 0.05  # of an operation: below it the millisecond that fio rounds to, and how threads began, are seen
_EXACT_S = 0.1  # of a thread: from there on fio's whole milliseconds are exact enough


@dataclass(frozen=True, slots=True, order=True)
class MatrixLoad(schema.At):
    """A cell: so many threads, each with a file of its own, in records of so many bytes."""

    file: int  # bytes
    record: int
    threads: int

    def on(self, axis: str) -> str:
        """Bytes in binary units."""
        if axis == "threads":
            return schema.At.on(self, axis)
        return f"{binary(self.values()[axis])} {axis}s"

    def shown(self) -> dict[str, object]:
        """The same in tables."""
        return {"file": binary(self.file), "record": binary(self.record), "threads": self.threads}

    def __str__(self) -> str:
        return f"{self.on('threads')}, {self.on('record')}, {self.on('file')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSeen(FioSeen):
    """All four operations of a cell, a run of fio."""

    synced: bool  # the end of writing waited for the storage
    asked: int  # bytes of each thread's file, in whole records


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRun(ProfileRun):
    """All four operations once, over all files."""

    rates: dict[str, float]  # by operation, MB/s
    seconds: dict[str, float]  # by operation, of the thread that needed longest
    cache_ratio: float | None  # reread ÷ read
    cut: tuple[str, ...]  # operations that moved less than whole files: they, or the writing before them, were ended

    @property
    def coarse(self) -> tuple[str, ...]:
        """Operations that were too short for an exact rate."""
        return tuple(op for op, seconds in self.seconds.items() if seconds < COARSE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPoint(schema.Point):
    """All repeats of a cell."""

    at: MatrixLoad
    repeats: tuple[MatrixRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixResult(schema.Result):
    """An experiment over a matrix."""

    points: tuple[MatrixPoint, ...]


def run_of(seen: MatrixSeen) -> MatrixRun:
    """Every figure of it."""
    by_op = {op: of_op(seen.fio.jobs, op) for op in OPS}
    seconds = {op: busy_s(jobs, synced=seen.synced) for op, jobs in by_op.items()}
    rates = {op: output.transferred(jobs) / seconds[op] / 1e6 for op, jobs in by_op.items() if seconds[op] > 0}
    read, again = rates.get("read"), rates.get("reread")
    return MatrixRun(
        **common(seen),
        latency={op: latency for op in OPS for latency in output.latencies(by_op[op]).values()},
        rates=rates,
        seconds=seconds,
        cache_ratio=again / read if read and again is not None else None,
        cut=tuple(op for op, jobs in by_op.items() if any(output.transferred([job]) < seen.asked for job in jobs)),
    )


def of_op(jobs: Sequence[Done], op: str) -> list[Done]:
    """fio's jobs are called as the operation, a dash, and the number of the thread."""
    return [job for job in jobs if job.name.partition("-")[0] == op]


def busy_s(jobs: Sequence[Done], *, synced: bool) -> float:
    """Of the thread that needed longest.

    fio tells how long a thread took in whole milliseconds, rounded up, which a file of a megabyte may need whole; what it spent in
    its calls it tells exactly, but the sync at the end of writing is not among them (fio 3.33).
    """
    return max((_thread_s(job, synced=synced) for job in jobs), default=0.0)


def _thread_s(job: Done, *, synced: bool) -> float:
    whole = max(job.read.runtime_ms, job.write.runtime_ms) / 1000
    if whole >= _EXACT_S or (synced and job.write.ios):
        return whole
    return sum(way.mean_ns * way.ios for way in (job.read, job.write)) / 1e9


def binary(nbytes: int) -> str:
    """`8 KiB`, `16 MiB`."""
    for unit, length in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= length:
            return f"{nbytes / length:g} {unit}"
    return f"{nbytes} B"
