"""Numbers the items of a production: in the order in which they come, a family's behind its topmost one."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from production.layout import Layout, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An item that is taken."""

    id: uuid.UUID
    family: uuid.UUID | None  # its family's topmost item
    parent: uuid.UUID | None  # what it is attached to, containers between them aside
    size: int  # of what is written of it, about


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """The same with its number, the range that it belongs to and where it lies."""

    taken: Taken
    number: int
    first: (
        int  # of the whole family; without its topmost item a range begins with each that is attached to nothing taken
    )
    last: int
    parent: int | None  # what it is attached to; None: nothing that was taken
    place: Place


def numbered(items: Iterable[Taken], first: int, layout: Layout) -> Iterator[Numbered]:
    """The items from number `first` on. Families must come together; one is held in memory at a time."""
    number = first
    for _, group in groupby(items, key=lambda item: item.family or item.id):
        members = list(group)
        place = layout.place([member.size for member in members])
        for tree in _trees(members):
            numbers = {member.id: number + n for n, member in enumerate(tree)}
            last = number + len(tree) - 1
            for n, member in enumerate(tree):
                above = None if member.parent is None else numbers.get(member.parent)
                yield Numbered(taken=member, number=number + n, first=number, last=last, parent=above, place=place)
            number = last + 1


def _trees(members: Sequence[Taken]) -> Iterator[list[Taken]]:
    """Each item that is attached to none of the others, and behind it what is attached to it, in their order: one tree of a
    family that is whole."""
    known = {member.id for member in members}
    below: dict[uuid.UUID | None, list[Taken]] = defaultdict(list)
    for member in members:
        below[member.parent if member.parent in known else None].append(member)
    for top in below[None]:
        tree, ahead = [], [top]
        while ahead:
            tree.append(one := ahead.pop())
            ahead.extend(reversed(below.get(one.id, ())))
        yield tree


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
