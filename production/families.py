"""Numbers the items of a production: in the order in which they come, a family's behind its topmost one."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from production.layout import Layout, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An item that is taken."""

    id: uuid.UUID
    family: uuid.UUID | None  # its family's topmost item
    parent: uuid.UUID | None
    size: int  # of what is written of it, about


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """The same with its number, those of its family and where it lies."""

    taken: Taken
    number: int
    first: int
    last: int
    parent: int | None  # what it is attached to: what is directly around it, else the family's first that was taken
    place: Place


def numbered(items: Iterable[Taken], first: int, layout: Layout) -> Iterator[Numbered]:
    """The items from number `first` on. Families must come together; one is held in memory at a time."""
    number = first
    for _, group in groupby(items, key=lambda item: item.family or item.id):
        members = list(group)
        place = layout.place([member.size for member in members])
        numbers = {member.id: number + n for n, member in enumerate(members)}
        last = number + len(members) - 1
        for n, member in enumerate(members):
            above = None if n == 0 else numbers.get(member.parent, number) if member.parent else number
            yield Numbered(taken=member, number=number + n, first=number, last=last, parent=above, place=place)
        number = last + 1


@dataclass(slots=True)
class Batches:
    """Cuts numbers into batches of whole families."""

    most_items: int
    most_bytes: int
    _first: int = 0
    _last: int = 0
    _bytes: int = 0

    def add(self, item: Numbered) -> tuple[int, int, int] | None:
        """(first, last, bytes) of a batch that is full; the item is in the next one."""
        full = None
        if self._first and item.number == item.first and self._full(item):
            full = self.rest()
        if not self._first:
            self._first = item.number
        self._last, self._bytes = item.number, self._bytes + item.taken.size
        return full

    def _full(self, item: Numbered) -> bool:
        many = item.last - self._first + 1
        return many > self.most_items or self._bytes + item.taken.size > self.most_bytes

    def rest(self) -> tuple[int, int, int] | None:
        """What is left; None where nothing is."""
        if not self._first:
            return None
        batch = (self._first, self._last, self._bytes)
        self._first = self._last = self._bytes = 0
        return batch
