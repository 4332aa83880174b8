"""The arithmetic of progress: rates, shares and times that never promise more than is known."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

GB = 1_000_000_000
_EVIDENCE_SECONDS = 3.0  # of a phase before its end is estimated …
_EVIDENCE_SHARE = 0.02  # … and so much of its work


def gb_per_hour(nbytes: int, seconds: float) -> float:
    """10⁹ bytes an hour; 0.0 when no time has passed."""
    return nbytes / GB / seconds * 3600 if seconds > 0 else 0.0


def per_second(count: int, seconds: float) -> float:
    """A rate; 0.0 when no time has passed."""
    return count / seconds if seconds > 0 else 0.0


def share_done(done: int, left: int, *, over: bool) -> float:
    """How much of the known work is done, 0.0 to 1.0: 1.0 only when it is over, at most 0.99 while it is not."""
    if over:
        return 1.0
    total = done + left
    return min(0.99, done / total) if total > 0 else 0.0


def seconds_left(done: int, left: int, seconds: float) -> float | None:
    """When `left` is done at the pace of the first `done`; None while there is too little to go by."""
    if done <= 0 or seconds < _EVIDENCE_SECONDS or done < _EVIDENCE_SHARE * (done + left):
        return None
    return left * seconds / done


def percent(share: float) -> str:
    """`share_done` for people: rounded down, so that only what is over is shown as 100 %."""
    return f"{int(share * 100)} %"


def duration(seconds: float) -> str:
    """`1 h 02 min`, `3 min 20 s`, `12 s`, `3.5 s`."""
    whole = max(0, round(seconds))
    if whole < 10:
        return f"{max(0.0, seconds):.1f} s"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"


@dataclass(frozen=True, slots=True)
class Reading:
    """A growing number at some moment."""

    at: float  # seconds on any clock that always advances
    value: int


class Window:
    """The recent rate of a growing number: growth between the newest reading and one about `seconds` before it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._readings: deque[Reading] = deque()

    def add(self, at: float, value: int) -> None:
        """Add a reading. A value below the last one (another thing is counted now) starts a new series."""
        if self._readings and value < self._readings[-1].value:
            self._readings.clear()
        self._readings.append(Reading(at, value))
        while len(self._readings) > 2 and self._readings[1].at <= at - self._seconds:
            self._readings.popleft()

    def growth(self) -> tuple[int, float]:
        """How much it grew, and in how many seconds; (0, 0.0) before there are two readings."""
        if len(self._readings) < 2:
            return 0, 0.0
        first, last = self._readings[0], self._readings[-1]
        return last.value - first.value, last.at - first.at
