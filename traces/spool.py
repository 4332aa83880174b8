"""The calls of one slot as they are kept on scratch until the job is over (docs/dev/trace-format.md).

A file of blocks, appended at the end of each task: what a slot that dies leaves is whole up to its last block. Every
block has the names of the paths in it, so that a slot keeps none in memory.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from core.operations import Op
from traces.blocks import (
    BLOCK_HEAD,
    MOST_RAW_BYTES,
    Damaged,
    calls_of,
    columns_block,
    pack_column,
    packed,
    unpack_columns,
    unpacked,
)
from traces.model import NO_NODE, Call

MAGIC = b"edbench-calls/1\n"
SUFFIX = ".calls"
_HEAD, _PATHS = b"PART", b"PATH"
_LEVEL = 1  # of compression: the slot waits for it


# One call as a slot keeps it: op, start in nanoseconds of this host's monotonic clock, duration in nanoseconds, bytes,
# argument, path, other, error.
Row = tuple[Op, int, int, int, int, bytes, bytes, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolHead:
    """The header of a spool file, which precedes the calls."""

    job: uuid.UUID
    worker: str
    slot: int
    boot: str  # id of the running kernel: monotonic clocks with the same one are the same
    wall_ns: int  # wall clock less monotonic clock
    phases: tuple[str, ...]


class SpoolBlock(NamedTuple):
    """Calls of one task in order; their nodes are positions in `paths`."""

    phase: int  # of all of them; a position in the head's
    paths: list[bytes]
    calls: list[Call]


class SpoolWriter:
    """The slot's side. Raises OSError; what could not be written leaves the file as it was."""

    def __init__(self, path: Path, head: SpoolHead) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0
        data = dataclasses.asdict(head) | {"job": head.job.hex}
        self._append(MAGIC + packed(_HEAD, json.dumps(data).encode(), _LEVEL))

    @property
    def gone(self) -> bool:
        """Whether the file has been removed: further writes would be lost."""
        return os.fstat(self._fd).st_nlink == 0

    def write(self, rows: Sequence[Row], phase: int) -> None:
        """Append calls, which all are of one phase (a position in the head's); at least one."""
        ops, starts, durations, nbytes, arguments, paths, others, errors = zip(*rows, strict=True)
        numbers: dict[bytes, int] = {}
        nodes = [numbers.setdefault(path, len(numbers)) for path in paths]
        second = [numbers.setdefault(path, len(numbers)) if path else NO_NODE for path in others]
        phases = bytes((phase,)) * len(ops)
        names = list(numbers)
        table = packed(_PATHS, pack_column(map(len, names)) + b"".join(names), _LEVEL)
        self._append(
            table
            + columns_block((ops, starts, durations, nbytes, arguments, nodes, second, errors, tuple(phases)), _LEVEL)
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
    """The head, and block after block up to the end, or to where a slot died while it wrote.

    Raises Damaged for a file without a head, OSError.
    """
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise Damaged("this is not a file of calls")
        head = _head_of(unpacked(_next_block(file), _HEAD))
        return head, _blocks(path, file.tell(), len(head.phases))


def _blocks(path: Path, at: int, phases: int) -> Iterator[SpoolBlock]:
    with path.open("rb") as file:
        file.seek(at)
        while True:
            try:
                paths = _names(unpacked(_next_block(file), _PATHS))
                calls = list(calls_of(_next_block(file), len(paths), phases))
            except Damaged:
                return
            yield SpoolBlock(calls[0].phase, paths, calls)


def _next_block(file: BinaryIO) -> bytes:
    head = file.read(BLOCK_HEAD.size)
    if len(head) < BLOCK_HEAD.size:
        raise Damaged("the file ends")
    length = BLOCK_HEAD.unpack(head)[1]
    if length > MOST_RAW_BYTES:
        raise Damaged("a block is damaged")
    return head + file.read(length)


def _head_of(raw: bytes) -> SpoolHead:
    try:
        data = json.loads(raw)
        return SpoolHead(**data | {"job": uuid.UUID(data["job"]), "phases": tuple(data["phases"])})
    except (ValueError, KeyError, TypeError) as e:
        raise Damaged("its head is damaged") from e


def _names(raw: bytes) -> list[bytes]:
    (lengths,), at = unpack_columns(raw, 1)
    ends = list(accumulate(lengths, initial=at))
    if min(lengths) < 0 or ends[-1] != len(raw):
        raise Damaged("a table of names is damaged")
    return [raw[start:end] for start, end in pairwise(ends)]
