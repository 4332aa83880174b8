"""Runs profile `matrix`: a cell is one run of fio, its four operations one after another."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.fio.jobs import Job
from experiments.profiles.fio.maker import observed, settled
from experiments.profiles.fio.output import elapsed_s
from experiments.profiles.fio.program import refuse_without_fio
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.workload import Turn
from experiments.workloads.matrix.result import OPS, MatrixLoad, MatrixSeen, busy_s, of_op

_KIB, _MIB = 1 << 10, 1 << 20
_SLOW = 100e6  # bytes a second that it is reckoned to have
_START_S = 1.0  # of a cell: fio begins and ends four times
_NULL_BYTES = 64 * _MIB  # of a cell in memory
_NULL_SECONDS = 1
Sizes = tuple[Annotated[ByteSize, Field(ge=512)], ...]


class Drop(StrEnum):
    """When this host's page cache is told to forget the files."""

    EACH = "before-each"
    READ = "before-read"  # reading again may come from this host's cache
    NEVER = "never"


def _sizes(*numbers: int) -> tuple[ByteSize, ...]:
    return tuple(ByteSize(number) for number in numbers)


class MatrixSettings(ProfileSettings):
    """Of profile `matrix`."""

    threads: Annotated[tuple[Annotated[int, Field(ge=1, le=1024)], ...], Field(min_length=1, description="at once")] = (
        1, 2, 4, 8, 16, 24,
    )  # fmt: skip
    records: Annotated[Sizes, Field(min_length=1, description="size of each read and write")] = _sizes(
        8 * _KIB, 256 * _KIB, 512 * _KIB, _MIB, 4 * _MIB, 8 * _MIB, 16 * _MIB
    )
    files: Annotated[
        Sizes, Field(min_length=1, description="size of each thread's file; cells with a larger record are omitted")
    ] = _sizes(_MIB, 2 * _MIB, 8 * _MIB, 16 * _MIB, 32 * _MIB, 256 * _MIB)
    seconds: Annotated[
        int, Field(ge=0, description="most seconds of each operation, without the sync; 0: to the ends of the files")
    ] = 0
    drop: Annotated[
        Drop, Field(description="when to drop this host's cached pages: before-each, before-read, never")
    ] = Drop.EACH
    fsync: Annotated[bool, Field(description="sync each file at its end, within the time of write and rewrite")] = True
    direct: Annotated[bool, Field(description="bypass the page cache (O_DIRECT)")] = False


class Matrix(Profile[MatrixSettings]):
    """Files are spread over the paths, thread by thread."""

    name = "matrix"
    report = "R4"
    does = (
        "Runs every combination of threads, record and file size: each thread writes a file of its own, rewrites it, reads it and"
        " reads it again; heat maps, and re-read ÷ read where a cache answered."
    )
    writes = "As many files as there are threads, of the cell's size; the next cell begins with new ones."
    needs = "fio. Empty directories; a night for the report's own matrix: --resume continues after an interruption."
    settings_type = MatrixSettings
    small: ClassVar[dict[str, Any]] = {
        "threads": (1, 2), "records": ("64KiB", "1MiB"), "files": ("1MiB", "8MiB"), "seconds": 1,
    }  # fmt: skip

    @property
    def direct(self) -> bool:
        """As it was set."""
        return self.settings.direct

    def check(self) -> None:
        """Raises UsageError without fio."""
        refuse_without_fio()

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every cell whose record is no longer than its file."""
        if not (cells := self._cells()):
            raise UsageError("--set records: every record is longer than every file")
        return Cases("threads", cells, repeats=repeats, seed=seed)

    def _cells(self) -> list[MatrixLoad]:
        wish = self.settings
        return [
            MatrixLoad(int(file), int(record), threads)
            for file in sorted(set(wish.files))
            for record in sorted(set(wish.records))
            if record <= file
            for threads in sorted(set(wish.threads))
        ]

    def room(self) -> Room:
        """The largest cell's; reckoned at 100 MB/s."""
        a_path = -(-max(self.settings.threads) // max(1, len(self.targets.paths)))
        most = self.settings.seconds * len(OPS) or float("inf")
        seconds = (_START_S + min(len(OPS) * cell.threads * cell.file / _SLOW, most) for cell in self._cells())
        return Room(bytes=a_path * int(max(self.settings.files)), files=a_path, seconds=sum(seconds))

    def on_null(self) -> Matrix:
        """The same cells, but no longer than a second, in files that are smaller where all together are large."""
        most = max(_NULL_BYTES // max(self.settings.threads), *self.settings.records)
        less = {"files": (ByteSize(min(max(self.settings.files), most)),), "seconds": _NULL_SECONDS, "direct": False}
        return Matrix(self.settings.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Of the smallest cell: each begins with new files."""
        return min((cell.threads * cell.file for cell in self._cells()), default=0)

    def observe(self, turn: Turn, arena: Arena) -> MatrixSeen:
        """Files of before are gone, so that `write` makes new ones. Raises RunFailed."""
        at = _in_memory(cast(MatrixLoad, turn.at)) if arena.null else cast(MatrixLoad, turn.at)
        for path in arena.paths:
            for file in path.iterdir():
                file.unlink()
        settled(arena)
        jobs = [job for op in OPS for job in self._jobs(op, at, len(arena.paths))]
        most = self.settings.seconds
        seen = observed(turn, arena, jobs, expected_s=float(len(OPS) * most) if most else None)
        synced, cpu_s = self.settings.fsync, seen.worker_cpu * seen.elapsed_s
        took = sum(elapsed_s(of_op(seen.fio.jobs, op)) for op in OPS)
        fields = {field.name: getattr(seen, field.name) for field in dataclasses.fields(seen)}
        fields["elapsed_s"] = sum(busy_s(of_op(seen.fio.jobs, op), synced=synced) for op in OPS)
        fields["worker_cpu"] = cpu_s / took if took else 0.0
        return MatrixSeen(**fields, synced=synced, asked=at.file // at.record * at.record)

    def _jobs(self, op: str, at: MatrixLoad, paths: int) -> list[Job]:
        """One for each thread; the first waits for the operation before. But for the first one they take files as they are."""
        first, writes, wish = op == OPS[0], op in ("write", "rewrite"), self.settings
        drop = wish.drop is Drop.EACH or (wish.drop is Drop.READ and op == "read")
        return [
            Job(name=f"{op}-{number}", does="write" if writes else "read", files=(f"{number % paths}/{number}",),
                block=at.record, size=at.file if first else None, most_seconds=wish.seconds or None, direct=wish.direct,
                drop=drop, after=number == 0 and not first,
                options=(("refill_buffers", "1"), ("end_fsync", str(int(wish.fsync)))) if writes else ())
            for number in range(at.threads)
        ]  # fmt: skip


def _in_memory(at: MatrixLoad) -> MatrixLoad:
    """With files of whole records of which all together are held in memory; one record at least."""
    most = max(at.record, _NULL_BYTES // at.threads // at.record * at.record)
    return dataclasses.replace(at, file=min(at.file, most))
