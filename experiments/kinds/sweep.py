"""Sweep: any numbers on one axis, under each of several bases, such as clients on each of several filers."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.kinds.grid import Grid, along
from experiments.result.schema import At


def sweep(bases: Sequence[At], axis: str, numbers: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """All numbers for the first base, then for the next. Raises UsageError."""
    points = [at for base in bases for at in along(base, axis, numbers)]
    return Grid("sweep", axis, points, repeats=repeats, seed=seed)
