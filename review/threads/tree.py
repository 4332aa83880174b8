"""Messages of a thread as they are drawn: each below the one that it answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Row = TypeVar("Row")


def below_parents(
    rows: Sequence[Row], own: Callable[[Row], Hashable], parent: Callable[[Row], Hashable | None]
) -> list[Row]:
    """The rows, each behind its parent and what stands below its earlier siblings. Siblings stay in the order given, and so
    does what has no parent, or one that is not among them. `own` and `parent` say a row's id and its parent's."""
    there = set(map(own, rows))
    below: defaultdict[Hashable | None, list[Row]] = defaultdict(list)
    for row in rows:
        below[above if (above := parent(row)) in there else None].append(row)
    out: list[Row] = []
    left = below[None][::-1]
    while left:
        out.append(left.pop())
        left += reversed(below.get(own(out[-1]), []))
    return out
