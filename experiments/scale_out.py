"""Scale-out: more and more database servers under the same workers (report R1, its second table).

R1's way is one job over the same data set on each database, all at once; `--shard` spreads one data set instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.base import Findings, Measure, PointSpec
from experiments.grid import checked, measure_grid


class ScaleOut:
    """Databases vary, everything else stays."""

    kind = "scale-out"

    def __init__(self, databases: Sequence[int], *, workers: int, slots: int, repeats: int, seed: int) -> None:
        self._databases, self._workers, self._slots = databases, workers, slots
        self._repeats, self._seed = repeats, seed
        self._points: list[PointSpec] = []

    def prepare(self) -> Sequence[PointSpec]:
        numbers = checked(self._databases, "--databases")
        self._points = [PointSpec(databases, self._workers, self._slots) for databases in numbers]
        return self._points

    def run(self, measure: Measure) -> Findings:
        return measure_grid(self._points, self._repeats, self._seed, measure)

    def clean_up(self) -> None:
        self._points = []
