"""Cases: points that a profile names, in random order with repeats; after them, where asked for, the highest load within a
bound on a figure.

The load of the search is doubled until the median of the figure is over the bound or the most is reached; then the gap
between the last load that kept it and the first that broke it is halved until it is no wider than `within` of the load. It is
global: the figure is that of the whole run, over all who make the load.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from core.errors import UsageError
from experiments.kinds.grid import shuffled
from experiments.kinds.kind import Findings, Measure, Plan, Search
from experiments.result.schema import At, Run
from experiments.workload import Figure

NAME = "profile"


class Cases:
    """A kind whose points a profile names. `base`: the load that the search starts from."""

    name = NAME

    def __init__(
        self, axis: str, points: Sequence[At], *, repeats: int, seed: int, search: Search | None = None,
        base: At | None = None, figure: Figure | None = None,
    ) -> None:  # fmt: skip
        self.axis, self._points = axis, tuple(dict.fromkeys(points))
        self._repeats, self._seed = repeats, seed
        self._search, self._base, self._figure = search, base, figure
        then = "" if search is None else "; then a search, doubling, then halving the gap"
        self.order = f"random within each round of repeats, seed {seed}{then}"

    def plan(self) -> Plan:
        """Points, repeats and seed, and what is searched for."""
        points = tuple(point.values() for point in self._points)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed,
                    search=self._search)  # fmt: skip

    def points(self) -> Sequence[At]:
        """All that are known beforehand, and both ends of the search."""
        if self._search is None or self._base is None:
            return self._points
        if self._search.most < 1:
            raise UsageError("a search requires a highest load of at least 1")
        return [*self._points, self._at(1), self._at(self._search.most)]

    def run(self, measure: Measure) -> Findings:
        """Round by round, then the search."""
        runs: dict[At, list[Run]] = {point: [] for point in self._points}
        for point, repeat in shuffled(self._points, self._repeats, self._seed):
            runs[point].append(measure(point, repeat))
        if self._search is not None and self._base is not None:
            found = self._searched(self._search, measure)
            runs |= {self._at(load): found[load] for load in sorted(found)}
        return Findings(runs=runs)

    def _at(self, load: int) -> At:
        if self._base is None or self._search is None:
            raise ValueError("there is no search")
        return dataclasses.replace(self._base, **{self._search.axis: load})

    def _searched(self, search: Search, measure: Measure) -> dict[int, list[Run]]:
        tried: dict[int, list[Run]] = {}

        def kept(load: int) -> bool:
            tried[load] = [measure(self._at(load), repeat) for repeat in range(self._repeats)]
            return self.value(tried[load]) <= search.bound

        good, bad, load = 0, None, 1
        while bad is None:
            if kept(load):
                good = load
                if load >= search.most:
                    break
                load = min(2 * load, search.most)
            else:
                bad = load
        while bad is not None and bad - good > max(1.0, search.within * good):
            middle = (good + bad) // 2
            if kept(middle):
                good = middle
            else:
                bad = middle
        return tried

    def value(self, runs: Sequence[Run]) -> float:
        """The median of the bounded figure; without any beyond every bound."""
        values = [] if self._figure is None else self._figure.values(runs)
        return statistics.median(values) if values else float("inf")
