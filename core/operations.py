"""The call record: what `core.storage.layer` did, one record for each call (design §4).

A *call* is not a wire op and not a filer op; nothing here may be added to either.
"""

from __future__ import annotations

import builtins
import enum
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
        """Keep one call (see CallRecord); must not raise and must not touch storage."""


class NullRecorder:
    """Keeps nothing; for tools that measure nothing (`inspect`, generation)."""

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
        return None


class MemoryRecorder:
    """Keeps every record in a list, for tests and small analyses. Unbounded: not for long runs."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []  # in order

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
        self.records.append(
            CallRecord(
                op=op,
                start_ns=start_ns,
                duration_ns=duration_ns,
                bytes=nbytes,
                path=path,
                error=error,
                argument=argument,
                other=other,
            )
        )
