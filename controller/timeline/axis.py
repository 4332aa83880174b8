"""The time axis: whole seconds of the database's clock, in buckets of one length that all panels share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitoring.aggregate import step_for

SETTLED_SECONDS = 1.5  # frames and observations of a second are in the database by then


@dataclass(frozen=True, slots=True)
class Axis:
    """Buckets from the first claim on. A bucket of `step` seconds begins at a multiple of it, as stored steps do;
    the first begins with the second of the first claim, the last ends where the data do."""

    start: float  # the first claim, seconds since the epoch
    end: int  # second that is not in it any more
    step: int
    skipped: int = 0  # buckets left out at the beginning: the reader has them

    @property
    def edges(self) -> list[int]:
        """Where buckets begin, and where the last one ends; only [end] when there is none."""
        first = math.floor(self.start)
        aligned = first - first % self.step
        begins = range(aligned + self.skipped * self.step, self.end, self.step)
        return [max(first, begin) for begin in begins] + [self.end]

    @property
    def t(self) -> list[float]:
        """Where buckets begin, in seconds since the first claim."""
        return [round(max(0.0, edge - self.start), 3) for edge in self.edges[:-1]]

    def bucket(self, second: int) -> int:
        """The number of the bucket that has this second or, before and after all of them, of the nearest;
        negative when it was skipped."""
        first = math.floor(self.start)
        aligned = first - first % self.step
        second = min(max(second, first), self.end - 1)
        return (second - aligned) // self.step - self.skipped

    def rates(self, sums: Sequence[float]) -> list[float]:
        """Sums over buckets as rates a second."""
        edges = self.edges
        return [total / (edges[n + 1] - edges[n]) for n, total in enumerate(sums)]


def axis_of(start: float, now: float, finished: float | None, points: int, since: float | None) -> Axis:
    """The axis of a job that began at `start`. While it runs, the last second or two are left out: not all has come
    in yet. `since`: only buckets that end later than that, in seconds since the first claim."""
    end = math.ceil(finished) if finished is not None else math.floor(now - SETTLED_SECONDS)
    end = max(end, math.floor(start) + (1 if finished is not None else 0))
    whole = Axis(start, end, step_for(math.floor(start), end, points))
    if since is None:
        return whole
    ends = whole.edges[1:]
    return Axis(start, end, whole.step, sum(1 for edge in ends if edge - start < since + 0.001))


def gauge(
    axis: Axis,
    readings: Iterable[tuple[int, float]],
    *,
    holds: float = 0.0,
    stops: Sequence[tuple[float, float]] = (),
) -> list[float | None]:
    """The mean of the readings (second, value; rising in second) within each bucket. A bucket without any has the last
    reading before it if that is at most `holds` seconds old, for sources that are read less often than once a second.
    Not during `stops` (from, to), when nothing is read."""
    within: list[list[float]] = [[] for _ in axis.t]
    before: tuple[int, float] | None = None
    for second, value in readings:
        if second < axis.edges[0]:
            before = (second, value)
        elif second < axis.end:
            within[axis.bucket(second)].append(value)
    out: list[float | None] = []
    for begin, end, values in zip(axis.edges, axis.edges[1:], within, strict=False):
        if values:
            out.append(sum(values) / len(values))
            before = (end - 1, values[-1])
        else:
            old = (
                before is None or begin - before[0] > holds or any(low <= begin and end <= high for low, high in stops)
            )
            out.append(None if old or before is None else before[1])
    return out
