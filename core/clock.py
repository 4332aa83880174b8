"""Clocks, passed as arguments: code that needs the time takes one of these, so tests need no patching."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """The interface of a clock."""

    def now(self) -> float:
        """Wall-clock seconds since the epoch."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that never run backwards, for durations."""

    def sleep(self, seconds: float) -> None:
        """Give up the CPU for about that long."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


_TRIES = 5


def offset_of(other: Callable[[], float]) -> tuple[float, float]:
    """The difference between another wall clock and this one, and its uncertainty, in seconds: of several tries the one
    with the shortest round trip."""
    measured = []
    for _ in range(_TRIES):
        before = time.time()
        there = other()
        after = time.time()
        measured.append(((after - before) / 2, there - (before + after) / 2))
    error, offset = min(measured)
    return round(offset, 6), round(error, 6)
