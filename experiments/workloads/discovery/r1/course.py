"""A quantity over the time of a run: its mean over any part of it, where it was highest for so long, how long it was held."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Course:
    """What had come to pass when it was looked at; between two looks it came evenly."""

    at: tuple[float, ...] = ()  # seconds, ascending
    passed: tuple[float, ...] = ()  # by then, of the first look nothing

    def __bool__(self) -> bool:
        """Whether there is any length to it."""
        return len(self.at) > 1

    def line(self) -> list[tuple[float, float]]:
        """(when, a second since the look before)."""
        looks = zip(self.at, self.passed, strict=True)
        return [(now, (b - a) / (now - before)) for (before, a), (now, b) in itertools.pairwise(looks)]

    def mean(self, begin: float, end: float) -> float:
        """A second, over what there is of that time; 0 where there is nothing of it."""
        if not self:
            return 0.0
        first, last = max(begin, self.at[0]), min(end, self.at[-1])
        return (self._by(last) - self._by(first)) / (last - first) if last > first else 0.0

    def highest(self, window: float) -> tuple[float, float]:
        """The highest mean over a window of that length, and when that begins; over all of it where it is shorter."""
        means = ((self.mean(at, at + window), at) for at in self._starts(window))
        return max(means, key=lambda one: one[0], default=(0.0, 0.0))

    def held(self, least: float, window: float) -> float:
        """Seconds from its beginning on, without a break: from the first window whose mean is at least so high to the end of the last
        one. 0 where the first begins later than a window after the beginning, or there is none."""
        means = [(at, self.mean(at, at + window)) for at in self._starts(window)]
        begin: float | None = None
        for before, now in itertools.pairwise([*means[:1], *means]):
            if begin is None and now[1] >= least:
                begin = _between(before, now, least)
                if begin > self.at[0] + window:
                    return 0.0
            elif begin is not None and now[1] < least:
                return _between(before, now, least) + window - begin
        return 0.0 if begin is None else self.at[-1] - begin

    def _starts(self, window: float) -> list[float]:
        """Where a window may begin for its mean to be the highest, or to pass a level: at a look, or so that it ends at one."""
        if not self:
            return []
        last = max(self.at[0], self.at[-1] - window)
        return sorted({one for at in self.at for one in (at, at - window) if self.at[0] <= one <= last} | {last})

    def _by(self, when: float) -> float:
        place = min(max(bisect.bisect_right(self.at, when), 1), len(self.at) - 1)
        (before, now), (a, b) = self.at[place - 1 : place + 1], self.passed[place - 1 : place + 1]
        return a + (b - a) * (when - before) / (now - before)


def course(looks: Iterable[tuple[float, float]]) -> Course:
    """Of (when, what came to pass since the look before). What the first one tells is left out: nobody says since when."""
    at: list[float] = []
    passed: list[float] = []
    for when, since in looks:
        if at and when <= at[-1]:
            passed[-1] += since
        else:
            at.append(when)
            passed.append(passed[-1] + since if passed else 0.0)
    return Course(tuple(at), tuple(passed))


def _between(before: tuple[float, float], now: tuple[float, float], level: float) -> float:
    """When a mean that changes evenly between two moments passes a level."""
    (began, low), (ended, high) = before, now
    return began + (ended - began) * (level - low) / (high - low) if high != low else ended
