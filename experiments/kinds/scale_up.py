"""Scale-up: more and more workers on one database (report R1, its first table)."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.kinds.grid import Grid, along
from experiments.result.schema import At


def scale_up(base: At, workers: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """Workers vary, everything else stays. Raises UsageError."""
    return Grid("scale-up", "workers", along(base, "workers", workers), repeats=repeats, seed=seed)
