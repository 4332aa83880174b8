"""The slot's files that its box reads: only those of sources it was given, and read by the slot."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from readers.base import Source

_MOST_OPEN = 256  # a handler opens a few


@dataclass(slots=True)
class Files:
    """Sources by key, and their open files by number. KeyError for what is not there: the box made it up."""

    _sources: dict[int, Source] = field(default_factory=dict)
    _holders: Counter[int] = field(default_factory=Counter)  # of the sources: who still may read them
    _open: dict[int, tuple[int, Any]] = field(default_factory=dict)  # number → key, file
    _numbers: int = 0

    def add(self, key: int, source: Source) -> None:
        """A source that may be read from now on, until it is released."""
        self._sources[key] = source
        self._holders[key] = 1

    def hold(self, key: int) -> None:
        """Somebody else reads it, too; nothing for what is no file."""
        if key in self._sources:
            self._holders[key] += 1

    def release(self, key: int) -> None:
        """With the last holder it may not be read any more; files of it that are open stay so."""
        if key in self._sources:
            self._holders[key] -= 1
            if not self._holders[key]:
                del self._holders[key], self._sources[key]

    def source(self, key: int) -> Source:
        return self._sources[key]

    def open_of(self, key: int) -> bool:
        """Whether files of that source are open."""
        return any(of == key for of, _ in self._open.values())

    def open(self, key: int) -> int:
        """Open a source; the number of the file."""
        if len(self._open) >= _MOST_OPEN:
            raise ValueError("too many files open")
        file = self._sources[key].open()
        self._numbers += 1
        # What is under the buffer: the reader's own buffer is in the box, and each of its reads is one of ours.
        self._open[self._numbers] = key, (file.detach() if isinstance(file, io.BufferedReader) else file)
        return self._numbers

    def read(self, number: int, offset: int, size: int) -> bytes:
        _, file = self._open[number]
        file.seek(offset)
        return bytes(file.read(size) or b"")

    def close(self, numbers: Iterable[int]) -> None:
        """Unknown ones are passed over."""
        for number in numbers:
            opened = self._open.pop(number, None)
            if opened is not None:
                opened[1].close()
