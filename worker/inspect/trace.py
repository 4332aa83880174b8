"""What an inspecting process leaves behind should it die: which file and which item it was reading, and what it had
spooled before that file. The same place sets the deadlines."""

from __future__ import annotations

import mmap
import signal
import struct
import uuid
from dataclasses import dataclass
from pathlib import Path

from worker.slots.breadcrumb import NoBreadcrumb

_FILE = struct.Struct("<QQ")  # behind the item's id
_ID = 16
TRACE_BYTES = _ID + _FILE.size
_NO_ITEM = bytes(_ID)


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a process was last."""

    item: uuid.UUID | None  # None before the first item of a file
    position: int  # of the file among those it was given
    spooled: int  # bytes of its spool that belong to the files before


def new_trace(path: Path) -> None:
    """A file for a process to leave its trace in."""
    path.write_bytes(bytes(TRACE_BYTES))


def read_trace(path: Path) -> Trace:
    """What stands in the file."""
    data = path.read_bytes()
    position, spooled = _FILE.unpack_from(data, _ID)
    return Trace(None if data[:_ID] == _NO_ITEM else uuid.UUID(bytes=data[:_ID]), position, spooled)


class Deadline(NoBreadcrumb):
    """Ends this process (SIGALRM, not caught) when one item takes longer than it may. With `trace`, a file made by
    `new_trace`, the file and item being read stand in it at every moment, so that a death can be attributed."""

    def __init__(self, trace: Path | None = None) -> None:
        self._trace: mmap.mmap | None = None
        if trace is not None:
            with trace.open("r+b") as file:
                self._trace = mmap.mmap(file.fileno(), TRACE_BYTES)

    def begin(self, position: int, spooled: int) -> None:
        """The file at this position comes next; the spool has that many bytes of those before it."""
        if self._trace is not None:
            self._trace[:] = _NO_ITEM + _FILE.pack(position, spooled)

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        if self._trace is not None:
            self._trace[:_ID] = item.bytes
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def leave(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def close(self) -> None:
        """The trace stays as it is."""
        if self._trace is not None:
            self._trace.close()
