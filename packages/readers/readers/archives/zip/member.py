"""Inflation of one zip member, checked against its announced size and CRC, in bounded memory."""

from __future__ import annotations

from typing import Any, BinaryIO

from isal import isal_zlib

from readers.archives.zip.directory import LOCAL, LOCAL_SIGNATURE, ZipEntry
from readers.base import Child
from readers.errors import corrupt
from readers.inflate import DECODE_ERRORS, Inflater
from readers.records import Kind
from readers.streams import CHUNK, PieceStream, as_binary


class MemberReader:
    """Reader of the bytes of one member."""

    def __init__(self, file: BinaryIO, start: int, compressed: int, size: int, crc: int | None, method: int) -> None:
        """Take the member's position and sizes; `crc` is None if something else verifies the bytes."""
        self._file, self._at, self._left = file, start, compressed
        self._size, self._crc, self._method = size, crc, method
        self._inflater = Inflater(method)
        self._made = 0
        self._sum = 0
        self._done = False

    @property
    def end(self) -> int:
        """Position of the end of its data: the real one after it was read, before that the announced one."""
        return self._at - self._inflater.unused if self._done else self._at + self._left

    def piece(self) -> bytes:
        """Return the next bytes; b"" at the end. Raises DocumentError `corrupt` if anything is wrong."""
        while not self._done:
            data = b""
            if self._inflater.wants_more:
                data = self._take()
            try:
                out = self._inflater.feed(data, CHUNK)
            except DECODE_ERRORS as error:
                raise corrupt(f"the member's data is damaged: {error}") from error
            self._made += len(out)
            if self._made > self._size:
                raise corrupt(f"the member holds more than the announced {self._size} bytes")
            if self._inflater.ended or (not data and not out and self._left == 0):
                self._done = True
            if out:
                self._sum = isal_zlib.crc32(out, self._sum)
                return out
        self._check()
        return b""

    def _take(self) -> bytes:
        self._file.seek(self._at)
        data = self._file.read(min(CHUNK, self._left))
        self._at += len(data)
        self._left = self._left - len(data) if data else 0
        return data

    def _check(self) -> None:
        if self._made != self._size:
            raise corrupt(f"the member ends after {self._made} of {self._size} bytes")
        if self._crc is not None and self._sum != self._crc:
            raise corrupt("the member's CRC does not match")

    def whole(self) -> bytes:
        """All bytes at once; for small members."""
        pieces: list[bytes] = []
        while piece := self.piece():
            pieces.append(piece)
        return b"".join(pieces)

    def stream(self) -> BinaryIO:
        """Return the bytes as a stream, which raises the errors of `piece` where they occur."""
        return as_binary(PieceStream(self.piece))

    def child(self, entry: ZipEntry, kind: Kind, *, whole: bool) -> Child:
        """Return the member with all its bytes, or with a stream of them."""
        child = Child(name=entry.name, kind=kind, ordinal=entry.index)
        if whole:
            child.data = self.whole()
        else:
            child.stream, child.size_hint = self.stream(), entry.size
        return child


def local_header(file: BinaryIO, archive_size: int, entry: ZipEntry) -> tuple[int, tuple[Any, ...]]:
    """Return the position of a member's data, and its local header's fields. Raises DocumentError `corrupt` if the
    header is not at the position that the directory gives."""
    file.seek(min(entry.offset, archive_size))
    header = file.read(LOCAL.size)
    if len(header) < LOCAL.size or not header.startswith(LOCAL_SIGNATURE):
        raise corrupt("no local header at the position given in the directory")
    fields = LOCAL.unpack(header)
    start = entry.offset + LOCAL.size + fields[9] + fields[10]
    if start + entry.compressed > archive_size:
        raise corrupt("the member reaches beyond the end of the archive")
    return start, fields


def open_member(file: BinaryIO, archive_size: int, entry: ZipEntry) -> MemberReader:
    """Return a reader over a member's data. Raises the errors of `local_header`."""
    start, _ = local_header(file, archive_size, entry)
    return MemberReader(file, start, entry.compressed, entry.size, entry.crc, entry.method)
