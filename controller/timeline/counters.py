"""Cumulative counters on the axis: growth within buckets, and no value where nothing is known.

A reading of a second counts as the counter's value at the end of that second, unless stated otherwise; between two
readings it is taken to have grown evenly. A counter that fell was reset: the time between those two readings has no
value.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Sequence


class Counter:
    """Readings of one counter in order of time."""

    def __init__(self, readings: Iterable[tuple[float, float]], *, taken: float = 1.0) -> None:
        """`readings`: (second, value), rising in second; `taken`: when in its second a reading counts as taken."""
        self._taken = taken
        self._at: list[float] = []
        self._value: list[float] = []
        self._anew: set[int] = set()  # numbers of readings before which the counter was reset
        for second, value in readings:
            if self._value and value < self._value[-1]:
                self._anew.add(len(self._value))
            self._at.append(second + taken)
            self._value.append(value)

    def value(self, at: float) -> float | None:
        """The value at a moment; None outside the readings and where the counter was reset."""
        after = bisect.bisect_left(self._at, at)
        if after == len(self._at):
            return None
        if self._at[after] == at:
            return self._value[after]
        if after == 0 or after in self._anew:
            return None
        share = (at - self._at[after - 1]) / (self._at[after] - self._at[after - 1])
        return self._value[after - 1] + share * (self._value[after] - self._value[after - 1])

    def until(self, at: float) -> float | None:
        """The same, but after the last reading the value of that reading."""
        return self._value[-1] if self._at and at >= self._at[-1] else self.value(at)

    def after_nothing(self, second: int) -> Counter:
        """The same counter with a reading of 0 before the others."""
        known = ((at - self._taken, value) for at, value in zip(self._at, self._value, strict=True))
        return Counter([(second, 0.0), *known], taken=self._taken)

    def grown(self, low: float, high: float) -> tuple[float, float]:
        """(growth, seconds) of what is known between two moments; seconds are 0 where nothing is."""
        growth = seconds = 0.0
        first = max(1, bisect.bisect_right(self._at, low))
        for after in range(first, len(self._at)):
            begin, end = max(low, self._at[after - 1]), min(high, self._at[after])
            if begin >= high:
                break
            if end <= begin or after in self._anew:
                continue
            share = (end - begin) / (self._at[after] - self._at[after - 1])
            growth += share * (self._value[after] - self._value[after - 1])
            seconds += end - begin
        return growth, seconds

    def rates(self, edges: Sequence[int]) -> list[float | None]:
        """Growth a second within each bucket between neighbouring edges, over the part that is known."""
        known = {} if self._anew else dict(zip(self._at, self._value, strict=True))
        out: list[float | None] = []
        for low, high in itertools.pairwise(edges):
            begin, end = known.get(low), known.get(high)
            if begin is not None and end is not None:  # mostly: there is a reading each second
                out.append((end - begin) / (high - low))
                continue
            growth, seconds = self.grown(low, high)
            out.append(growth / seconds if seconds else None)
        return out


def added(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Series added up point by point; None only where none of them knows anything."""
    out: list[float | None] = []
    for column in zip(*rows, strict=True):
        known = [value for value in column if value is not None]
        out.append(sum(known) if known else None)
    return out


def ratio(over: Sequence[float | None], under: Sequence[float | None]) -> list[float | None]:
    """One series by another; None where either is not known or the lower one is 0."""
    return [a / b if a is not None and b else None for a, b in zip(over, under, strict=True)]
