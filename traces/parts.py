"""Calls of one slot as recorded on scratch, and their transfer to the storage root (docs/dev/trace-format.md)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import Struct

from core.operations import Op
from core.places import trace_parts_location
from traces import blocks
from traces.model import NO_NODE, Call

MAGIC = b"edbench-calls/1\n"
SUFFIX = ".calls"
_HEAD, _PATHS = b"PART", b"PATH"
_LEVEL = 1  # compression level: the slot waits for it


# One call of a slot: op, start in nanoseconds of this host's monotonic clock, duration in nanoseconds, bytes,
# argument, path, other, error.
Row = tuple[Op, int, int, int, int, bytes, bytes, int]


class SpoolHead(Struct, frozen=True, kw_only=True):
    """The header of a spool file, which precedes the calls."""

    job: uuid.UUID
    worker: str
    slot: int
    boot: str  # id of the running kernel: monotonic clocks with the same one are the same
    wall_ns: int  # wall clock less monotonic clock
    phases: tuple[str, ...]


class SpoolBlock(NamedTuple):
    """Calls of one task in order; their nodes are positions in `paths`."""

    phase: int  # of all calls; a position in the head's
    paths: list[bytes]
    calls: list[Call]


class SpoolWriter:
    """Writer of a slot. Raises OSError; a failed write leaves the file unchanged."""

    def __init__(self, path: Path, head: SpoolHead) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0
        self._append(MAGIC + blocks.packed(_HEAD, msgspec.json.encode(head), _LEVEL))

    @property
    def gone(self) -> bool:
        """Whether the file has been removed: further writes would be lost."""
        return os.fstat(self._fd).st_nlink == 0

    def write(self, rows: Sequence[Row], phase: int) -> None:
        """Append at least one call; all are of one phase (a position in the head's)."""
        ops, starts, durations, nbytes, arguments, paths, others, errors = zip(*rows, strict=True)
        numbers: dict[bytes, int] = {}
        nodes = [numbers.setdefault(path, len(numbers)) for path in paths]
        second = [numbers.setdefault(path, len(numbers)) if path else NO_NODE for path in others]
        phases = bytes((phase,)) * len(ops)
        names = list(numbers)
        table = blocks.packed(_PATHS, blocks.pack_column(map(len, names)) + b"".join(names), _LEVEL)
        self._append(
            table
            + blocks.columns_block(
                (ops, starts, durations, nbytes, arguments, nodes, second, errors, tuple(phases)), _LEVEL
            )
        )

    def close(self) -> None:
        os.close(self._fd)

    def _append(self, data: bytes) -> None:
        try:
            written = os.write(self._fd, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)


def read_spool(path: Path) -> tuple[SpoolHead, Iterator[SpoolBlock]]:
    """Return the head, and block after block up to the end, or to where a slot died while it wrote.

    Raises Damaged for a file without a head, OSError."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise blocks.Damaged("this is not a file of calls")
        try:
            head = msgspec.json.decode(blocks.unpacked(_next_block(file), _HEAD), type=SpoolHead)
        except msgspec.DecodeError as e:
            raise blocks.Damaged("its head is damaged") from e
        return head, _blocks(path, file.tell(), len(head.phases))


def _blocks(path: Path, at: int, phases: int) -> Iterator[SpoolBlock]:
    with path.open("rb") as file:
        file.seek(at)
        while True:
            try:
                paths = _names(blocks.unpacked(_next_block(file), _PATHS))
                calls = list(blocks.calls_of(_next_block(file), len(paths), phases))
            except blocks.Damaged:
                return
            yield SpoolBlock(calls[0].phase, paths, calls)


def _next_block(file: BinaryIO) -> bytes:
    head = file.read(blocks.BLOCK_HEAD.size)
    if len(head) < blocks.BLOCK_HEAD.size:
        raise blocks.Damaged("the file ends")
    length = blocks.BLOCK_HEAD.unpack(head)[1]
    if length > blocks.MOST_RAW_BYTES:
        raise blocks.Damaged("a block is damaged")
    return head + file.read(length)


def _names(raw: bytes) -> list[bytes]:
    (lengths,), at = blocks.unpack_columns(raw, 1)
    ends = list(accumulate(lengths, initial=at))
    if min(lengths) < 0 or ends[-1] != len(raw):
        raise blocks.Damaged("a table of names is damaged")
    return [raw[start:end] for start, end in pairwise(ends)]


log = logging.getLogger(__name__)

_JOB = re.compile(r"[0-9a-f]{32}")  # entries of other names are not ours


class WorkerParts:
    """Parts that one worker's slots write, or wrote before it ended."""

    def __init__(self, directory: Path, storage_root: Path) -> None:
        self.directory = directory
        self._root = storage_root

    def new(self, job: uuid.UUID) -> Path:
        """Return a path to which a slot may write its calls of this job."""
        return self.directory / job.hex / f"{uuid.uuid4().hex}{SUFFIX}"

    def jobs(self) -> list[uuid.UUID]:
        """Return the jobs that have parts here; normally none."""
        return [uuid.UUID(hex=path.name) for path in _listed(self.directory) if _JOB.fullmatch(path.name)]

    def deliver_one(self, job: uuid.UUID) -> bool:
        """Move one part of a job to the storage root, if any; return whether there may be more. Raises OSError."""
        for part in _listed(self.directory / job.hex):
            self._deliver(part, job)
            return True
        with contextlib.suppress(FileNotFoundError):
            (self.directory / job.hex).rmdir()
        return False

    def deliver_all(self) -> None:
        """Deliver everything, whatever its job's state, and remove the directory; log failures."""
        try:
            for job in self.jobs():
                while self.deliver_one(job):
                    pass
            with contextlib.suppress(FileNotFoundError):
                self.directory.rmdir()
        except OSError as error:
            log.warning("calls recorded for a trace stay in %s: %s", self.directory, error)

    def mark_done(self, job: uuid.UUID, worker: uuid.UUID, when: float) -> None:
        """Declare that this worker's record is complete up to a time. Raises OSError."""
        place = parts_directory(self._root, job)
        if place.parent.is_dir():
            place.mkdir(exist_ok=True)
            partial = place / f"{worker.hex}.{uuid.uuid4().hex}.tmp"
            partial.write_text(repr(when))
            os.replace(partial, _mark(self._root, job, worker))

    def _deliver(self, part: Path, job: uuid.UUID) -> None:
        place = parts_directory(self._root, job)
        if place.parent.is_dir():
            place.mkdir(exist_ok=True)
            partial = place / f"{part.name}.{uuid.uuid4().hex}.tmp"
            shutil.copyfile(part, partial)
            os.replace(partial, place / part.name)
        elif not self._root.is_dir():
            raise FileNotFoundError(2, "the storage root does not exist", str(self._root))
        part.unlink(missing_ok=True)  # delivered, or of a job that was deleted


def worker_parts(scratch: Path, worker: uuid.UUID, storage_root: Path) -> WorkerParts:
    """Return the parts of a worker by its scratch directory's id."""
    return WorkerParts(_all(scratch) / worker.hex, storage_root)


def deliver_left_behind(scratch: Path, storage_root: Path) -> None:
    """Deliver the parts that dead workers left on this scratch; a failure is logged and leaves the parts."""
    for directory in _listed(_all(scratch)):
        with _of_the_dead(scratch / "workers" / directory.name) as dead:
            if dead:
                WorkerParts(directory, storage_root).deliver_all()


def parts_directory(storage_root: Path, job: uuid.UUID) -> Path:
    """Return the directory in which the parts of a job are collected."""
    return storage_root / os.fsdecode(trace_parts_location(job))


def done_until(storage_root: Path, job: uuid.UUID, worker: uuid.UUID) -> float:
    """Return the time up to which a worker has declared its record complete; -inf if it has not."""
    try:
        return float(_mark(storage_root, job, worker).read_text())
    except (OSError, ValueError):
        return float("-inf")


def _mark(storage_root: Path, job: uuid.UUID, worker: uuid.UUID) -> Path:
    return parts_directory(storage_root, job) / f"{worker.hex}.done"


def _all(scratch: Path) -> Path:
    return scratch / "traces"


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def _of_the_dead(worker: Path) -> Iterator[bool]:
    """Yield whether no process uses this worker's scratch (worker.slots.watch: it and its slots hold a lock there). The
    block holds that lock, so that no other process finds the scratch unused meanwhile."""
    try:
        descriptor = os.open(worker, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
