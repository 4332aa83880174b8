"""Tune: the best of several settings by successive halving, and what it gains over the default.

Each round measures every setting that is left, and twice as often as the round before; the better half by the median of the
workload's rate stays (K. Jamieson and A. Talwalkar, AISTATS 2016, with repeats as the resource). A setting that won by chance
would look better than it is, so that the last one and the default are run again, and only these runs are compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from core.errors import UsageError
from experiments.kinds.grid import shuffled
from experiments.kinds.kind import Findings, Measure, Plan
from experiments.result.schema import At, Run, Tuning


class Halving:
    """`points`: the default first, then the settings that are tried. `repeats`: of the comparison at the end."""

    name = "tune"
    axis = "setting"

    def __init__(self, points: Sequence[At], *, repeats: int, seed: int, rate: Callable[[Run], float]) -> None:
        self.order = (
            f"random within each round of repeats, seed {seed}; rounds of successive halving, then the comparison"
        )
        self._points, self._repeats, self._seed, self._rate = tuple(points), repeats, seed, rate

    def plan(self) -> Plan:
        """Settings, repeats and seed."""
        points = tuple(point.values() for point in self._points)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed)

    def points(self) -> Sequence[At]:
        """All settings. Raises UsageError where there is nothing to compare."""
        if len(set(self._points)) < max(2, len(self._points)):
            raise UsageError("tune requires settings that differ from the default and from each other")
        return self._points

    def run(self, measure: Measure) -> Findings:
        """The rounds, then the comparison."""
        runs: dict[At, list[Run]] = {point: [] for point in self._points}
        left, rounds, times = list(self._points[1:]), list[tuple[int, ...]](), 1
        while len(left) > 1:
            rounds.append(tuple(self._points.index(point) for point in left))
            self._measure(left, times, runs, measure)
            left.sort(key=lambda point: -statistics.median(map(self._rate, runs[point])))
            left, times = left[: -(-len(left) // 2)] if len(left) > 2 else left[:1], 2 * times
        self._measure([self._points[0], left[0]], self._repeats, runs, measure)
        tuning = Tuning(default=0, best=self._points.index(left[0]), rounds=tuple(rounds), compared=self._repeats)
        return Findings(runs=runs, tuning=tuning)

    def _measure(self, points: Sequence[At], times: int, runs: dict[At, list[Run]], measure: Measure) -> None:
        for point, _ in shuffled(points, times, self._seed + sum(map(len, runs.values()))):
            runs[point].append(measure(point, len(runs[point])))
