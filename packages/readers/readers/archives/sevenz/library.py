"""7z folders that our decoders do not read (PPMd, BCJ2), decoded by libarchive."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO, cast

from readers.archives.libarchive.library import ArchiveReader
from readers.errors import DocumentError, ExceptionCode
from readers.streams import JoinedRange

_MOST_PASSES = 16  # over one archive: after damage libarchive reads nothing more of it, and a new pass begins


class LibraryFolders:
    """The folders of one archive that are left to libarchive, in their order."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size
        self._entries: Iterator[tuple[int, Iterator[bytes]]] = iter(())
        self._passes = 0

    def entries(self, first: int) -> Iterator[bytes]:
        """The bytes of the entries from position `first` on, one behind the other. Raises DocumentError."""
        try:
            for pieces in itertools.chain([self._reached(first)], (pieces for _, pieces in self._entries)):
                yield from pieces
        except DocumentError:
            self._entries = iter(())
            raise

    def _reached(self, first: int) -> Iterator[bytes]:
        member = next((pieces for position, pieces in self._entries if position >= first), None)
        if member is not None:
            return member
        if self._passes == _MOST_PASSES:
            raise DocumentError(ExceptionCode.CORRUPT, "the archive is damaged in too many places")
        self._passes += 1
        self._entries = self._walk()
        return next((pieces for position, pieces in self._entries if position >= first), iter(()))

    def _walk(self) -> Iterator[tuple[int, Iterator[bytes]]]:
        whole = JoinedRange(b"", self._file, 0, self._size)
        with closing(ArchiveReader(cast("BinaryIO", whole), self._size, "7zip")) as reader:
            position = 0
            while (entry := reader.next()) is not None:
                yield position, reader.pieces(entry.size)
                position += 1


class LibraryFolder:
    """One folder, read as `FolderReader` is. `unknown` is what is wrong with it where libarchive does not know its method
    either."""

    def __init__(self, folders: LibraryFolders, first: int, unknown: DocumentError) -> None:
        self.problem: DocumentError | None = None
        self._pieces = folders.entries(first)
        self._unknown = unknown
        self._buffer, self._taken = b"", 0
        self._fill()

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes; for a `count` of 0 read nothing, because the next folder follows this one."""
        if count and self._taken >= len(self._buffer):
            self._fill()
        if self.problem is not None and not self._buffer:
            raise self.problem
        out = self._buffer[self._taken : self._taken + count]
        self._taken += len(out)
        return out

    def _fill(self) -> None:
        self._buffer, self._taken = b"", 0
        if self.problem is not None:
            return
        try:
            self._buffer = next(self._pieces, b"")
        except DocumentError as error:
            self.problem = self._unknown if error.code is ExceptionCode.UNSUPPORTED else error
