"""Load: achieved load and response time at each offered load, at levels up to the peak (SPECstorage's way).

The peak is found first, from runs as fast as they go, or the user gives it. Then each level offers its part of it, at
intended start times, so that a delay of the storage counts as response time. SPEC wants ten levels or more, evenly
spread (SPEC SFS 2014 SP2 Run and Reporting Rules 1.1, §5.3).
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from core.errors import UsageError
from experiments.kinds.grid import shuffled
from experiments.kinds.kind import Findings, Measure, Plan
from experiments.result.schema import At, Run

LEAST_LEVELS, MOST_LEVELS = 2, 100


class LoadLevels:
    """A load has `percent`, of the `peak`, calls a second; both are 0 of runs as fast as they go."""

    name = "load"
    axis = "percent"

    def __init__(
        self,
        base: At,
        levels: int,
        *,
        repeats: int,
        seed: int,
        rate: Callable[[Run], float],
        peak: int | None = None,
    ) -> None:
        self.order = f"the peak's runs first, if any; then levels, random within each round of repeats, seed {seed}"
        self._base, self._levels, self._repeats, self._seed, self._rate = base, levels, repeats, seed, rate
        self._peak = peak

    def plan(self) -> Plan:
        """The number of levels, and the peak where it was given."""
        points: tuple[dict[str, Any], ...] = (self._base.values(),)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed,
                    levels=self._levels, peak=self._peak)  # fmt: skip

    def points(self) -> Sequence[At]:
        """The point that the peak is found at, or all levels of a given peak."""
        if not LEAST_LEVELS <= self._levels <= MOST_LEVELS:
            raise UsageError(f"--levels can be from {LEAST_LEVELS} to {MOST_LEVELS}")
        if self._peak is None:
            return [self._at(0, 0)]
        if self._peak < 1:
            raise UsageError("--peak must be at least 1 call/s")
        return self._all(self._peak)

    def run(self, measure: Measure) -> Findings:
        """The peak, then its levels."""
        runs: dict[At, list[Run]] = {}
        peak = self._peak
        if peak is None:
            top = self._at(0, 0)
            runs[top] = [measure(top, repeat) for repeat in range(self._repeats)]
            peak = max(1, round(statistics.median(map(self._rate, runs[top]))))
        levels = self._all(peak)
        runs |= {level: [] for level in levels}
        for level, repeat in shuffled(levels, self._repeats, self._seed):
            runs[level].append(measure(level, repeat))
        return Findings(runs=runs, peak=peak)

    def _all(self, peak: int) -> list[At]:
        return [self._at(round(100 * number / self._levels), peak) for number in range(1, self._levels + 1)]

    def _at(self, percent: int, peak: int) -> At:
        return dataclasses.replace(self._base, **{self.axis: percent, "peak": peak})
