"""The one rule by which batches are cut: a task takes so many entries or so much of their cost, whichever comes first.

Phase walk cuts loose files with it, phase expand cuts what it hands on, and the simulation cuts its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

ITEM_COST = 4_096  # opening, parsing and recording a small item, in bytes of a large one

_T = TypeVar("_T")


def full(entries: int, cost: int, more: int, most_entries: int, most_cost: int) -> bool:
    """Whether a batch is closed before an entry that costs `more`; an empty one takes anything."""
    return entries > 0 and (entries >= most_entries or cost + more > most_cost)


def batches(values: Iterable[_T], cost: Callable[[_T], int], most_entries: int, most_cost: int) -> Iterator[list[_T]]:
    """The values in order, in batches."""
    batch: list[_T] = []
    total = 0
    for value in values:
        more = cost(value)
        if full(len(batch), total, more, most_entries, most_cost):
            yield batch
            batch, total = [], 0
        batch.append(value)
        total += more
    if batch:
        yield batch
