"""Gzip files (RFC 1952), of several members too; a tar inside one is opened with it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

from isal import isal_zlib

from readers.archives.compressed import after_streams, bare_name, content_children, skippable
from readers.archives.names import shown
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.inflate import DEFLATED, ISAL_ERROR, Inflater
from readers.records import Limits, TextState
from readers.streams import CHUNK

_MAGIC = b"\x1f\x8b"
_MAX_HEADER = 1 << 20
_FIRST_STEP = 1 << 8  # bytes of a member that are looked at first; then twice as many, so that tiny ones cost little
_ZEROS = re.compile(rb"\0++")


class GzipReader:
    """Members of a gzip file one after another. The frame is read here and the CRC checked apart from inflating, so
    that everything inflated is handed out before an error."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer, self._at = b"", 0  # what was read, and how much of it is used up
        self._step = _FIRST_STEP
        self._inflater: Inflater | None = None
        self._members = 0
        self.rest: int | None = None  # where bytes begin that follow the last member, once it was reached
        self._crc = self._size = 0

    def piece(self) -> bytes:
        """The next bytes; b"" at the end. `truncated` or `corrupt` when the file is."""
        while True:
            if self._inflater is None and not self._start():
                return b""
            out = self._inflate()
            if out:
                return out

    def _fill(self, count: int) -> bool:
        """Have at least that many bytes in the buffer."""
        while len(self._buffer) - self._at < count:
            more = self._file.read(CHUNK)
            if not more:
                return False
            self._buffer, self._at = self._buffer[self._at :] + more, 0
        return True

    def _start(self) -> bool:
        """Skip the header of the next member; False when there is none."""
        if self._members and not self._at_next_member():
            self.rest = self._file.tell() - len(self._buffer) + self._at
            return False
        most = _FIRST_STEP
        while (length := self._header_length(most)) is None:
            if most > _MAX_HEADER:
                raise DocumentError(ExceptionCode.CORRUPT, "the gzip header does not end")
            most *= 4
        self._at += length
        self._inflater, self._crc, self._size, self._step = Inflater(DEFLATED), 0, 0, _FIRST_STEP
        return True

    def _header_length(self, most: int) -> int | None:
        """That of the header here; None when it has more than so many bytes."""
        there = self._fill(most)
        length = header_length(self._buffer[self._at : self._at + most])
        if length is None and not there:
            raise _cut()
        return length

    def _at_next_member(self) -> bool:
        """Skip zero padding; what is no member after the first one does not make the file damaged."""
        while self._fill(1):
            padding = _ZEROS.match(self._buffer, self._at)
            self._at = padding.end() if padding else self._at
            if self._at < len(self._buffer):
                return self._fill(2) and self._buffer.startswith(_MAGIC, self._at)
        return False

    def _inflate(self) -> bytes:
        inflater = self._inflater
        assert inflater is not None  # `piece` has started it
        if inflater.ended:
            self._finish(inflater)
            return b""
        data = b""
        if inflater.wants_more:
            if not self._fill(1):
                raise _cut()
            data = self._buffer[self._at : self._at + self._step]
            self._at, self._step = self._at + len(data), min(CHUNK, 2 * self._step)
        try:
            out = inflater.feed(data, CHUNK)
        except ISAL_ERROR as error:
            raise DocumentError(ExceptionCode.CORRUPT, f"the gzip data is damaged: {error}") from error
        self._crc = isal_zlib.crc32(out, self._crc)
        self._size += len(out)
        return out

    def _finish(self, inflater: Inflater) -> None:
        """Check the trailer of the member that has ended."""
        self._at -= inflater.unused
        self._inflater = None
        self._members += 1
        if not self._fill(8):
            raise _cut()
        crc, size = struct.unpack_from("<LL", self._buffer, self._at)
        self._at += 8
        if (crc, size) != (self._crc, self._size & 0xFFFFFFFF):
            raise DocumentError(ExceptionCode.CORRUPT, "the CRC of the gzip file does not match")


def _cut() -> DocumentError:
    return DocumentError(ExceptionCode.TRUNCATED, "the gzip file ends in the middle")


def header_length(data: bytes) -> int | None:
    """Length of the gzip header at the start (RFC 1952, 2.3); None when more bytes are needed. `corrupt` when it is
    none."""
    if len(data) < 10:
        return None
    if not data.startswith(_MAGIC) or data[2] != 8:
        raise DocumentError(ExceptionCode.CORRUPT, "not a gzip header")
    flags, at = data[3], 10
    if flags & 4:
        if len(data) < at + 2:
            return None
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (8, 16):
        if flags & flag:
            end = data.find(b"\0", at)
            if end < 0:
                return None
            at = end + 1
    at += 2 if flags & 2 else 0
    return at if len(data) >= at else None


class GzipHandler(LeafHandler):
    """One compressed file, or the members of a compressed tar."""

    name = "gzip"
    media_types: tuple[str, ...] = ("application/gzip",)
    container = True
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Gzip files, and tar archives in them",
            extensions=("gz", "tgz", "z"),
            children="the file in it, under the name in the header or its own less the extension; the members of a tar "
            "archive instead of the archive",
            leaves_out=("comments in the header", "what follows the last stream, if it is of no known type"),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """See `content_children`."""
        with source.open() as file:
            allowed = skippable(source.size, limits)
            name = content_name(source)
            reader = GzipReader(file)
            yield from shown(content_children(reader.piece, name, allowed))
            yield from after_streams(file, reader.rest, source.size, "gzip file")

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: an archive has none of its own."""
        return Text(state=TextState.EMPTY)


def content_name(source: Source) -> bytes:
    """The name in the gzip header (FNAME), else the file's own less its .gz, .tgz or .z."""
    head = source.head
    if len(head) > 10 and head[3] & 8:
        at = 10
        if head[3] & 4:
            at += 2 + int.from_bytes(head[10:12], "little")
        name, zero, _ = head[at:].partition(b"\0")
        if zero and name:
            return name
    return bare_name(source.name, (b".gz", b".tgz", b".z"))


HANDLERS: tuple[Handler, ...] = (GzipHandler(),)
