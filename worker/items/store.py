"""Where extracted children go, and how their bytes get there."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator
from typing import Protocol

from core.places import item_location
from core.records import Layout
from core.storage.layer import Storage
from readers.base import Child, MemorySource, Source
from readers.errors import DocumentError
from readers.passwords import NO_PASSWORDS, Passwords
from worker.costs import Budget
from worker.items.guard import guarded
from worker.items.sources import CHUNK, FilerSource

KEEP_BYTES = 16_000_000  # a child up to this is worked on from memory; a larger one is read back from its file


class ChildStore(Protocol):
    """Takes the bytes of children and gives them back."""

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        """Keep the bytes; the location relative to the storage root, or None where there is no such thing."""

    def source(self, item: uuid.UUID, name: bytes, size: int) -> Source:
        """The bytes again."""


class FilerStore:
    """One file on the filer for each child, under a temporary name until it is whole."""

    def __init__(
        self,
        storage: Storage,
        root: bytes,
        job: uuid.UUID,
        layout: Layout,
        worker: str,
        passwords: Passwords = NO_PASSWORDS,
    ) -> None:
        self._storage = storage
        self._root = root
        self._job = job
        self._layout = layout
        self._worker = worker
        self._passwords = passwords

    def _location(self, item: uuid.UUID) -> bytes:
        return item_location(self._job, item, self._layout, self._worker)

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        location = self._location(item)
        self._storage.write_file(os.path.join(self._root, location), chunks)
        return location

    def source(self, item: uuid.UUID, name: bytes, size: int) -> Source:
        path = os.path.join(self._root, self._location(item))
        return FilerSource(self._storage, path, name, size, own=True, passwords=self._passwords)


class Intake:
    """One child's bytes on their way to the store: counted, hashed, charged, and kept if they are few.

    A stream that breaks after its first byte leaves a partial child with `error`; one that breaks before gives
    DocumentError at `begin`, and nothing is written. A broken budget passes through, so the store drops the file.
    """

    def __init__(self, child: Child, budget: Budget) -> None:
        self._child = child
        self._budget = budget
        self._hash = hashlib.sha256()
        self._kept: list[bytes] = []
        self._first = b""
        self.size = 0
        self.error: DocumentError | None = None

    def begin(self) -> None:
        """Read the first bytes; raises DocumentError when none are available."""
        if self._child.data is not None:
            self._first = self._child.data
        elif self._child.stream is not None:
            with guarded:
                self._first = self._child.stream.read(CHUNK)

    def __iter__(self) -> Iterator[bytes]:
        chunk = self._first
        while chunk:
            self._budget.charge(len(chunk))
            self.size += len(chunk)
            self._hash.update(chunk)
            if self.size <= KEEP_BYTES or self._child.data is not None:
                self._kept.append(chunk)
            else:
                self._kept.clear()
            yield chunk
            chunk = self._more()

    def _more(self) -> bytes:
        if self._child.stream is None:
            return b""
        try:
            with guarded:
                return self._child.stream.read(CHUNK)
        except DocumentError as e:
            self.error = e
            return b""

    @property
    def sha256(self) -> bytes:
        return self._hash.digest()

    def memory_source(self, passwords: Passwords = NO_PASSWORDS) -> MemorySource | None:
        """The child from memory, if all of it was kept."""
        if self.size > KEEP_BYTES and self._child.data is None:
            return None
        data = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        return MemorySource(self._child.name, data, passwords)
