"""Calls that are delayed, as by an emulated filer (core.filer)."""

from __future__ import annotations

from typing import Protocol

from core.operations import Op, Recorder
from core.records import Phase


class Around(Protocol):
    """What a slot waits for before a call begins: the processors of an emulated site."""

    def begin(self) -> None:
        """A task begins: what the process used before was nobody's work."""

    def settle(self, now_ns: int) -> int:
        """Wait until what the slot did before is done; gives when the call begins, nanoseconds of the monotonic clock."""

    def resume(self) -> None:
        """The call has ended; from here on the slot works again."""


class Station(Protocol):
    """What delays a call."""

    @property
    def around(self) -> Around | None:
        """The emulated site, if the filer stands in one."""

    def works_on(self, phase: Phase) -> None:
        """The calls that follow are of a task of that phase."""

    def serve(
        self, op: Op, nbytes: int, arrived_ns: int, path: bytes = b"", argument: int = 0, other: bytes = b""
    ) -> int:
        """Return when the call would have ended, with the monotonic time in nanoseconds then. `path`, `argument` and
        `other` are those of the call's record."""


class DelayingRecorder:
    """Stands before a recorder: serves the call first, so that what is recorded includes the delay.

    Storage records every call before it returns, so a delay here is a delay of the call. On an emulated site the slot waits for
    its processors first, and the call begins after that.
    """

    def __init__(self, recorder: Recorder, station: Station) -> None:
        self._record = recorder.record
        self._serve = station.serve
        self._around = station.around

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
        around = self._around
        if around is not None:
            start_ns = around.settle(start_ns)
        ended = self._serve(op, nbytes, start_ns, path, argument, other)
        if around is not None:
            around.resume()
        self._record(op, start_ns, max(duration_ns, ended - start_ns), nbytes, path, error, argument, other)
