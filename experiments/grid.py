"""Points that are known beforehand, measured in random order with repeats."""

from __future__ import annotations

import random
from collections.abc import Sequence

from core.errors import UsageError
from experiments.base import Findings, Measure, PointSpec
from experiments.result import Run


def shuffled(points: Sequence[PointSpec], repeats: int, seed: int) -> list[tuple[PointSpec, int]]:
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


def measure_grid(points: Sequence[PointSpec], repeats: int, seed: int, measure: Measure) -> Findings:
    """All of them; the runs of a point in order of repeat."""
    runs: dict[PointSpec, list[Run]] = {point: [] for point in points}
    for point, repeat in shuffled(points, repeats, seed):
        runs[point].append(measure(point, repeat))
    return Findings(runs=runs)


def checked(numbers: Sequence[int], option: str) -> tuple[int, ...]:
    """Ascending and each once; raises UsageError for an empty list or a number under 1."""
    if not numbers or min(numbers) < 1:
        raise UsageError(f"{option} needs whole numbers of at least 1, such as 1,2,4")
    return tuple(sorted(set(numbers)))
