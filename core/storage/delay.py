"""Calls that are delayed, as by an emulated filer (core.filer)."""

from __future__ import annotations

from typing import Protocol

from core.operations import Op, Recorder
from core.records import Phase


class Station(Protocol):
    """What delays a call."""

    def works_on(self, phase: Phase) -> None:
        """The calls that follow are of a task of that phase."""

    def serve(
        self, op: Op, nbytes: int, arrived_ns: int, path: bytes = b"", argument: int = 0, other: bytes = b""
    ) -> int:
        """Return when the call would have ended, with the monotonic time in nanoseconds then. `path`, `argument` and
        `other` are those of the call's record."""


class DelayingRecorder:
    """Stands before a recorder: serves the call first, so that what is recorded includes the delay.

    Storage records every call before it returns, so a delay here is a delay of the call.
    """

    def __init__(self, recorder: Recorder, station: Station) -> None:
        self._record = recorder.record
        self._serve = station.serve

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
        ended = self._serve(op, nbytes, start_ns, path, argument, other)
        self._record(op, start_ns, max(duration_ns, ended - start_ns), nbytes, path, error, argument, other)
