"""Scale-up: more and more workers on one database (report R1, its first table)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.base import Findings, Measure, PointSpec
from experiments.grid import checked, measure_grid


class ScaleUp:
    """Workers vary, everything else stays."""

    kind = "scale-up"

    def __init__(self, workers: Sequence[int], *, slots: int, repeats: int, seed: int) -> None:
        self._workers, self._slots, self._repeats, self._seed = workers, slots, repeats, seed
        self._points: list[PointSpec] = []

    def prepare(self) -> Sequence[PointSpec]:
        self._points = [PointSpec(1, workers, self._slots) for workers in checked(self._workers, "--workers")]
        return self._points

    def run(self, measure: Measure) -> Findings:
        return measure_grid(self._points, self._repeats, self._seed, measure)

    def clean_up(self) -> None:
        self._points = []
