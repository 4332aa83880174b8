"""The one rule by which batches are cut: a task takes so many entries or so much of their cost, whichever comes first.

Phase walk cuts loose files with it, phase expand cuts what it hands on, and the simulation cuts its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of design §3; hitting one is an exception with its own code."""

    depth: int = 16  # containers and documents inside one another, the loose file being 0
    parse_bytes: int = 64_000_000  # a single message or document that must be parsed whole
    expansion_ratio: float = 100.0  # extracted bytes over loose-file bytes, above the floor
    expansion_floor: int = 32_000_000  # extracted bytes under one loose file that are never questioned
    extracted_bytes: int = 1_000_000_000_000  # extracted bytes under one loose file
    children: int = 10_000_000  # items under one loose file
    hand_ons: int = 100_000  # ranges and items under one loose file that are left to other tasks
    item_seconds: float = 60.0  # deadline of one item …
    item_seconds_per_mb: float = 2.0  # … and for each 10⁶ bytes of it
    loose_seconds: float = 300.0  # CPU time for one loose file with all that it holds, in one phase …
    loose_seconds_per_mb: float = 10.0  # … and for each 10⁶ bytes of it
    deaths: int = 6  # slots that may die in one loose file, or in one container in it, in one phase …
    deaths_per_mb: float = 0.25  # … and for each 10⁶ bytes of it
    text_characters: int = 50_000_000  # text taken from one item

    def item_deadline(self, size: int) -> float:
        """Seconds for one item of this size."""
        return self.item_seconds + self.item_seconds_per_mb * size / 1e6

    def seconds_of(self, size: int) -> float:
        """Seconds for a loose file of this size with all that it holds."""
        return self.loose_seconds + self.loose_seconds_per_mb * size / 1e6

    def deaths_of(self, size: int) -> int:
        """Slots that may die in a loose file or container of this size."""
        return self.deaths + int(self.deaths_per_mb * size / 1e6)


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
