"""The entries of one directory, however many: some in memory, the rest in a file on local scratch.

They are read from the directory in one go, so that it is one call with one duration, and so that the filer gets no
other request while a directory is half read.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import IO

from core.storage.beneath import Entry, EntryKind
from core.storage.errors import storage_fault

AT_ONCE = 10_000  # entries in memory
_LENGTH_BYTES = 4
_LETTERS = {EntryKind.FILE: b"f", EntryKind.DIRECTORY: b"d", EntryKind.LINK: b"l", EntryKind.SPECIAL: b"s"}
_NAME = itemgetter(0)
_KINDS = {letter[0]: kind for kind, letter in _LETTERS.items()}


class Listing:
    """Iterate over it once for lists of at most AT_ONCE entries, each list sorted by name, of which none is in a list twice;
    close it afterwards.

    `spill`: where the file for what does not fit into memory is made; it has no name and goes with the process.
    `only`: entries of other kinds are counted and forgotten.
    """

    def __init__(self, spill: Path | None = None, only: EntryKind | None = None) -> None:
        self.count = 0  # entries of any kind
        self.spilled_ns = 0  # spent on writing the file, which is no part of reading the directory
        self._spill = spill
        self._only = only
        self._first: list[Entry] = []
        self._file: IO[bytes] | None = None

    def fill(self, entries: Iterator[Entry], alive: Callable[[], None] | None = None) -> None:
        """Read all entries, calling `alive` at times. Raises OSError for the directory, StorageFault for scratch."""
        while batch := list(islice(entries, AT_ONCE)):
            if alive is not None:
                alive()
            self.count += len(batch)
            if self._only is not None:
                batch = [entry for entry in batch if entry.kind is self._only]
            if self._first and batch:
                self._write(batch)
            else:
                self._first = self._first or batch

    def _write(self, batch: list[Entry]) -> None:
        began = time.monotonic_ns()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._spill)  # noqa: SIM115 (closed by `close`)
            # Neither "/" nor NUL is part of any name.
            text = b"/".join(_LETTERS[kind] + name for name, kind in batch)
            self._file.write(len(text).to_bytes(_LENGTH_BYTES, "big") + text)
        except OSError as e:
            raise storage_fault("write a listing to scratch", os.fsencode(self._spill or b"/tmp"), e) from e
        self.spilled_ns += time.monotonic_ns() - began

    def __iter__(self) -> Iterator[list[Entry]]:
        first, self._first = self._first, []
        if first:
            yield _sorted(first)
        if self._file is None:
            return
        self._file.seek(0)
        while head := self._file.read(_LENGTH_BYTES):
            text = self._file.read(int.from_bytes(head, "big"))
            yield _sorted(Entry(part[1:], _KINDS[part[0]]) for part in text.split(b"/"))

    def close(self) -> None:
        """Give the file up."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    """GlusterFS lists a file twice while it is renamed from brick to brick."""
    return sorted({entry.name: entry for entry in entries}.values(), key=_NAME)
