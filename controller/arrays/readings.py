"""What was read of an array, whatever it was read from: values of columns at times by the array's own clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from controller.arrays.mapping import Column

Point = tuple[float, float]  # epoch seconds, value


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was left out, by its line in the file, and why."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


@dataclass(frozen=True, slots=True)
class Readings:
    """Points of each column in order of time, and the rows that gave none."""

    points: Mapping[Column, tuple[Point, ...]]
    bad: tuple[BadRow, ...] = ()

    def times(self) -> list[float]:
        """Every time at which there is a value, in order."""
        return sorted({at for points in self.points.values() for at, _ in points})

    def interval_s(self) -> float:
        """How far the values lie apart, mostly; 1 where there are too few to tell."""
        times = self.times()
        return max(1.0, median(b - a for a, b in pairwise(times))) if len(times) > 1 else 1.0


def converted(column: Column, points: Iterable[Point]) -> tuple[Point, ...]:
    """In the column's unit and in order; a counter as its growth per second, at the later time of each two.

    Where a counter went down it began anew, and there is no value.
    """
    ordered = sorted(dict(points).items())
    if not column.counter:
        return tuple((at, value * column.scale) for at, value in ordered)
    return tuple(
        (later, (after - before) * column.scale / (later - earlier))
        for (earlier, before), (later, after) in pairwise(ordered)
        if after >= before
    )
