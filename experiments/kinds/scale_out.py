"""Scale-out: more and more database servers under the same workers (report R1, its second table).

R1's way is one job over the same data set on each database, all at once; `--shard` spreads one data set instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.kinds.grid import Grid, along
from experiments.result.schema import At


def scale_out(base: At, databases: Sequence[int], *, repeats: int, seed: int) -> Grid:
    """Databases vary, everything else stays. Raises UsageError."""
    return Grid("scale-out", "databases", along(base, "databases", databases), repeats=repeats, seed=seed)
