"""Directories of an emulated filer that slow with their size: how many entries each has, in memory that all clients share.

Counted is what was made, renamed and removed since the arbiter was, by names: what lay there before is not known, nor what a
second name of a directory leads to, and what failed counts too. Of more than `MOST` directories the largest ones are known.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from core.operations import Op

_WAYS = 4
_SETS = 1 << 12
MOST = _WAYS * _SETS
_WORDS = 2  # key, entries
_MAKES = frozenset({Op.CREATE, Op.MKDIR})


class _Place(NamedTuple):
    place: int  # of its words
    key: int
    entries: int


class Directories:
    """In words that all have in common; every method only under the lock of the queues."""

    def __init__(self, words: memoryview, at: int, entry_ns: float) -> None:
        """`words[at:]` has `words()` of them, all nought at first; `entry_ns`: what an entry that is there adds to making one."""
        self._words, self._at, self._entry_ns = words, at, entry_ns

    @staticmethod
    def words(entry_us: float) -> int:
        """What the table needs; none where directories do not slow."""
        return MOST * _WORDS if entry_us else 0

    def asked_ns(self, op: Op, path: bytes, other: bytes) -> int:
        """What the size of the directory adds to a call, of its record; keeps what is learnt of it."""
        if op in _MAKES:
            return self._made(path)
        if op is Op.REMOVE:
            self._gone(path)
        elif op is Op.RENAME:
            self._gone(other)
            return self._made(path)
        return 0

    def _made(self, path: bytes) -> int:
        at = self._look(path)
        self._words[at.place] = at.key
        self._words[at.place + 1] = at.entries + 1
        return int(at.entries * self._entry_ns)

    def _gone(self, path: bytes) -> None:
        at = self._look(path)
        if at.entries:
            self._words[at.place + 1] = at.entries - 1

    def _look(self, path: bytes) -> _Place:
        """Where the directory of a name stands, or where it may: in its set the place that is free, or the smallest one's."""
        digest = hashlib.blake2b(path.rpartition(b"/")[0], digest_size=8).digest()
        key = int.from_bytes(digest, "little", signed=True) or 1
        words = self._words
        first = self._at + (key % _SETS) * _WAYS * _WORDS
        places = range(first, first + _WAYS * _WORDS, _WORDS)
        for place in places:
            if words[place] == key:
                return _Place(place, key, words[place + 1])
        return _Place(min(places, key=lambda at: words[at + 1]), key, 0)
