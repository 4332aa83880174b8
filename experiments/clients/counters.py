"""What clients have done so far, in memory that whoever watches them reads: a few numbers of each, which only grow.

They cost a client an addition for each call, and are made only where somebody watches.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path

_BYTES, _FILES, _TROUBLES, _WHOLE_NS = range(4)
_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Over all clients."""

    bytes: int  # moved
    files: int  # files or objects written, read or removed
    troubles: int  # of them refused or failed
    whole_ns: int  # that they took, together


class Counters:
    """One process's way to them, made when there are none: places for so many clients. Raises OSError."""

    def __init__(self, path: Path, clients: int) -> None:
        self.path = path
        size = clients * _WORDS * 8
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
            self._words = memoryview(mmap.mmap(descriptor, size)).cast("q")
        finally:
            os.close(descriptor)

    def of(self, client: int) -> Counter:
        """Of one; nobody else writes there meanwhile."""
        return Counter(self._words[client * _WORDS : (client + 1) * _WORDS])

    def totals(self) -> Totals:
        """Now; a call under way may be half in them."""
        words = self._words
        moved, files, troubles, took = (sum(words[kind::_WORDS].tolist()) for kind in range(_WORDS))
        return Totals(bytes=moved, files=files, troubles=troubles, whole_ns=took)


class Counter:
    """One client's."""

    __slots__ = ("_words",)

    def __init__(self, words: memoryview) -> None:
        self._words = words

    def moved(self, nbytes: int) -> None:
        """By a call that moves bytes."""
        self._words[_BYTES] += nbytes

    def whole(self, took_ns: int, error: int) -> None:
        """A whole file or object."""
        words = self._words
        words[_TROUBLES if error else _FILES] += 1
        words[_WHOLE_NS] += took_ns
