"""Sources that lie on the filer; see `worker.formats.base.Source`."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from core.errors import DocumentError, ExceptionCode, SourceFileError, StorageFault
from core.names import display_name
from core.storage import ReadFile, Storage

CHUNK = 1 << 20
_HEAD = 4096


class FilerSource:
    """A file on the filer: a loose file, or (own=True) a child that a worker wrote.

    A loose file that is gone is the document's trouble (SourceFileError); an own file that is gone is ours
    (StorageFault).
    """

    def __init__(self, storage: Storage, path: bytes, name: bytes, size: int, *, own: bool) -> None:
        self.name = name
        self.size = size
        self._storage = storage
        self._path = path
        self._own = own
        self._head: bytes | None = None

    @property
    def head(self) -> bytes:
        if self._head is None:
            with self._open() as f:
                self._head = f.pread(min(_HEAD, self.size), 0) if self.size else b""
        return self._head

    def _open(self) -> ReadFile:
        try:
            return self._storage.open(self._path)
        except SourceFileError as e:
            if self._own:
                raise _lost(self._path, e) from e
            raise

    def open(self) -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(self._open(), CHUNK))

    def whole(self, limit: int) -> bytes:
        if self.size > limit:
            raise DocumentError(ExceptionCode.TOO_LARGE, f"{self.size} bytes; the limit is {limit}")
        with self._open() as f:
            return f.readall()

    def chunks(self) -> Iterator[bytes]:
        """All bytes from the start, a mebibyte a read."""
        with self._open() as f:
            while chunk := f.read(CHUNK):
                yield chunk

    def digest(self) -> tuple[bytes, int]:
        """sha256 over all bytes, and how many there really were."""
        state, size = hashlib.sha256(), 0
        for chunk in self.chunks():
            state.update(chunk)
            size += len(chunk)
        return state.digest(), size


def _lost(path: bytes, error: SourceFileError) -> StorageFault:
    return StorageFault(
        f"{display_name(path)}, written by this job, cannot be read ({error.detail}); "
        "see that the storage is mounted, then resume the job",
        errno=error.errno,
    )
