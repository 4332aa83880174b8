"""The call record: what `core.storage.layer` did, one record for each call (design §4).

A *call* is not a wire op and not a filer op; nothing here may be added to either.

Calls that move bytes are classified by size: a read of 4 KiB and one of a whole file are two things. A call is in the
class of the bytes that it moved, not of those that it requested: a read at the end of a file, which moves none, and a
call that failed are in the first class, NOTHING, with all calls that never move any."""

from __future__ import annotations

import builtins
import enum
from bisect import bisect_left
from dataclasses import dataclass
from typing import Protocol


class Op(enum.IntEnum):
    """The classes of storage call. The numbers are part of the frame and trace formats: never reuse one."""

    SCAN = 0
    STAT = 1
    OPEN = 2
    READ = 3
    CREATE = 4
    WRITE = 5
    FSYNC = 6
    CLOSE = 7
    RENAME = 8
    REMOVE = 9
    MKDIR = 10

    @property
    def label(self) -> str:
        """Lower-case name for JSON, metrics and people."""
        return self.name.lower()


NOTHING = 0
MOST_BYTES = (0, 4 << 10, 64 << 10, 1 << 20)  # of a call of each class of size; of the last one there is no most
SIZES = ("nothing", "to 4 KiB", "to 64 KiB", "to 1 MiB", "over 1 MiB")  # as people and JSON have them


def size_class(nbytes: int) -> int:
    """The class of a call that moved so many bytes, an index into SIZES; `monitoring.live` repeats this code inline."""
    return bisect_left(MOST_BYTES, nbytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One storage call."""

    op: Op
    start_ns: int  # monotonic nanoseconds at the start
    duration_ns: int
    bytes: int  # bytes moved; 0 for metadata calls
    path: builtins.bytes  # absolute; rename: the new name
    error: int  # errno, 0 when it succeeded
    argument: int  # read, write: offset in the file; open, stat: size found; scan: entries found; else 0
    other: builtins.bytes  # rename: the old name; else empty


class Recorder(Protocol):
    """Takes every storage call. Must cost little (≤ 5 µs): it is on the path of each one."""

    def record(
        self,
        op: Op,
        start_ns: int,
        duration_ns: int,
        nbytes: int,
        path: bytes,
        error: int,
        argument: int = 0,
        other: bytes = b"",
    ) -> None:
        """Record one call (see CallRecord); must not raise and must not touch storage."""


class NullRecorder:
    """Discards all records; for tools that measure nothing (`inspect`, generation)."""

    def record(self, *call: object, **more: object) -> None:
        return None
