"""The cache of a network client, in front of an emulated filer: which bytes of a read never reach the wire.

Of every file it is kept how far it was read or written from its beginning, and when it was last used, in bytes that
the client has taken in since. A file is gone when more came in than the cache holds. So no list of pages is kept,
and a read costs one look into a table in shared memory, which all slots of the host have in common: it is one client.

Limits: what is read from the middle of a file on is not kept; of more than `FILES` files the ones last used are known; attributes
and names are not cached here, a protocol's expansion says what they cost.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from core.operations import Op

_WAYS = 4
_SETS = 1 << 15
FILES = _WAYS * _SETS
_KEY, _STAMP, _EXTENT = range(3)
_WORDS = 3
_CAME, _ANSWERED, _TABLE = 0, 1, 3  # bytes taken in so far; reads answered and their bytes


class _Place(NamedTuple):
    place: int  # of its words
    key: int
    known: int  # bytes from the file's beginning that are there; 0: none any more


class ClientCache:
    """The words that all slots have in common; every method only under the lock of the queues."""

    def __init__(self, words: memoryview, at: int, size: int) -> None:
        """`words[at:]` has `words()` of them, all nought at first; `size` in bytes."""
        self._words, self._at, self._size = words, at, size
        self._came = at + _CAME

    @staticmethod
    def words(size: int) -> int:
        """What a cache of so many bytes needs."""
        return _TABLE + FILES * _WORDS if size else 0

    def wire_bytes(self, op: Op, path: bytes, offset: int, nbytes: int, other: bytes) -> int:
        """How many of the bytes that a call moved went over the wire; keeps what the cache learns of the call."""
        if op is Op.READ and nbytes:
            return self._read(path, offset, nbytes)
        if op is Op.WRITE and nbytes:
            self._keep(self._look(path), offset, offset + nbytes, nbytes)
        elif op is Op.RENAME:
            known = self._forget(other)
            if known:
                self._keep(self._look(path), 0, known, 0)
            else:
                self._forget(path)
        elif op is Op.REMOVE:
            self._forget(path)
        return nbytes

    def answered(self) -> tuple[int, int]:
        """Reads that no byte of went over the wire, and the bytes of all reads that did not."""
        at = self._at + _ANSWERED
        return self._words[at], self._words[at + 1]

    def _read(self, path: bytes, offset: int, nbytes: int) -> int:
        at = self._look(path)
        had = max(0, min(at.known, offset + nbytes) - offset)
        missing = nbytes - had
        counts = self._at + _ANSWERED
        self._words[counts] += not missing
        self._words[counts + 1] += had
        self._keep(at, offset, offset + nbytes, missing)
        return missing

    def _keep(self, at: _Place, offset: int, end: int, came: int) -> None:
        """From `offset` to `end`, of which `came` bytes are new here. After a gap nothing is kept, and nothing of a file
        that is larger than the cache: read to its end, its beginning has been pushed out."""
        words = self._words
        words[self._came] += came
        if offset > at.known:
            return
        if max(at.known, end) > self._size:
            if words[at.place + _KEY] == at.key:
                words[at.place + _KEY] = 0
            return
        words[at.place + _KEY] = at.key
        words[at.place + _STAMP] = words[self._came]
        words[at.place + _EXTENT] = max(at.known, end)

    def _forget(self, path: bytes) -> int:
        """What was known of it."""
        at = self._look(path)
        if self._words[at.place + _KEY] == at.key:
            self._words[at.place + _KEY] = 0
        return at.known

    def _look(self, path: bytes) -> _Place:
        """Where the file stands, or where it may: in its set the place that is free, or was used longest ago."""
        digest = hashlib.blake2b(path, digest_size=8).digest()
        key = int.from_bytes(digest, "little", signed=True) or 1
        words = self._words
        first = self._at + _TABLE + (key % _SETS) * _WAYS * _WORDS
        places = range(first, first + _WAYS * _WORDS, _WORDS)
        for place in places:
            if words[place + _KEY] == key:
                gone = words[self._came] - words[place + _STAMP] > self._size
                return _Place(place, key, 0 if gone else words[place + _EXTENT])
        return _Place(min(places, key=lambda at: (words[at + _KEY] != 0, words[at + _STAMP])), key, 0)
