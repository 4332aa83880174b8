"""Points that are known beforehand, measured in random order with repeats."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import TypeVar

from core.errors import UsageError
from experiments.kinds.kind import Findings, Measure, Plan
from experiments.result.schema import At, Run

A = TypeVar("A", bound=At)


class Grid:
    """A kind whose points are all known."""

    def __init__(self, name: str, axis: str, points: Sequence[At], *, repeats: int, seed: int) -> None:
        self.name, self.axis = name, axis
        self.order = f"random within each round of repeats, seed {seed}"
        self._points, self._repeats, self._seed = tuple(points), repeats, seed

    def plan(self) -> Plan:
        """Points, repeats and seed."""
        points = tuple(point.values() for point in self._points)
        return Plan(kind=self.name, axis=self.axis, points=points, repeats=self._repeats, seed=self._seed)

    def points(self) -> Sequence[At]:
        """All of them."""
        return self._points

    def run(self, measure: Measure) -> Findings:
        """Round by round."""
        runs: dict[At, list[Run]] = {point: [] for point in self._points}
        for point, repeat in shuffled(self._points, self._repeats, self._seed):
            runs[point].append(measure(point, repeat))
        return Findings(runs=runs)


def shuffled(points: Sequence[A], repeats: int, seed: int) -> list[tuple[A, int]]:
    """Every point `repeats` times, the same order for the same seed.

    Each repeat is a block that holds every point once in random order, so that a drift of the machine over the hours
    falls on all points alike.
    """
    dice = random.Random(seed)
    out = []
    for repeat in range(repeats):
        block = list(points)
        dice.shuffle(block)
        out += [(point, repeat) for point in block]
    return out


def along(base: A, axis: str, numbers: Sequence[int]) -> list[A]:
    """A load with each of these numbers on one axis, ascending and each once; raises UsageError for an empty list or a
    number under 1."""
    return [dataclasses.replace(base, **{axis: number}) for number in checked(numbers, f"--{axis}")]


def checked(numbers: Sequence[int], option: str) -> tuple[int, ...]:
    """Ascending and each once; raises UsageError for an empty list or a number under 1."""
    if not numbers or min(numbers) < 1:
        raise UsageError(f"{option} needs whole numbers of at least 1, such as 1,2,4")
    return tuple(sorted(set(numbers)))


def scale_up(base: At, workers: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """More and more workers, everything else stays (report R1, its first table). Raises UsageError."""
    return Grid("scale-up", "workers", along(base, "workers", workers), repeats=repeats, seed=seed)


def scale_out(base: At, databases: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """More and more database servers under the same workers (report R1, its second table).

    R1's way is one job over the same data set on each database, all at once; `--shard` spreads one data set instead. Raises UsageError.
    """
    return Grid("scale-out", "databases", along(base, "databases", databases), repeats=repeats, seed=seed)


def sweep(bases: Sequence[At], axis: str, numbers: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """All numbers on one axis for the first base, then for the next, such as clients on each of several filers. Raises UsageError."""
    points = [at for base in bases for at in along(base, axis, numbers)]
    return Grid("sweep", axis, points, repeats=repeats, seed=seed)
