"""What libarchive's formats have in common: members as children, and a bound on what is decoded only to get past it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from isal import isal_zlib

from readers.archives.compressed import skippable
from readers.archives.libarchive.library import ArchiveEntry, ArchiveReader
from readers.archives.zip.handler import failed_member, link_member
from readers.base import Child
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind, Limits
from readers.rest import rest
from readers.streams import SMALL_MEMBER, PieceStream, as_binary


class Members:
    """The members that a reader comes to. `solid`: what the caller leaves of one has to be decoded to reach the next;
    it may be as much as the archive may expand to, then the rest is `expansion_limit`."""

    def __init__(self, reader: ArchiveReader, size: int, limits: Limits, *, solid: bool) -> None:
        self._reader = reader
        self._solid = solid
        self._skippable = skippable(size, limits)
        self._names = 4 * size + 1_000_000  # bytes
        self._pieces: Iterator[bytes] = iter(())

    def next(self) -> ArchiveEntry | None:
        """The next member; None at the end. Raises DocumentError."""
        if self._solid:
            for piece in self._pieces:
                self._skippable -= len(piece)
                if self._skippable < 0:
                    raise DocumentError(
                        ExceptionCode.EXPANSION_LIMIT, "the rest comes after more data than the archive may expand to"
                    )
        self._pieces = iter(())
        entry = self._reader.next()
        self._names -= len(entry.name) if entry is not None else 0
        if self._names < 0:  # a table of names may give each member all of it
            raise DocumentError(ExceptionCode.EXPANSION_LIMIT, "the names of the members are longer than the archive")
        return entry

    def child(self, entry: ArchiveEntry, position: int, name: bytes | None = None, crc: int | None = None) -> Child:
        """The member as a child, failed where its data cannot be read or has another CRC-32 than this."""
        name = entry.name if name is None else name
        if entry.link:
            return link_member(name, position)
        child = Child(name=name, kind=Kind.ARCHIVE_MEMBER, ordinal=position)
        if entry.special:
            child.media_type = "inode/fifo"
            child.error = DocumentError(ExceptionCode.SPECIAL_FILE, "a FIFO or device in the archive")
            return child
        self._pieces = self._whole(entry, crc)
        stream = PieceStream(lambda: next(self._pieces, b""))
        if entry.size is None or entry.size > SMALL_MEMBER:
            child.stream, child.size_hint = as_binary(stream), entry.size
            return child
        try:
            child.data = stream.read()
        except DocumentError as error:
            return failed_member(name, position, error)
        return child

    def _whole(self, entry: ArchiveEntry, crc: int | None) -> Iterator[bytes]:
        made = computed = 0
        for piece in self._reader.pieces(entry.size):
            made += len(piece)
            if crc is not None:  # libarchive does not look at that of stored members
                computed = isal_zlib.crc32(piece, computed)
            yield piece
        if entry.size is not None and made < entry.size:
            raise DocumentError(ExceptionCode.TRUNCATED, f"the member ends after {made} of {entry.size} bytes")
        if crc is not None and computed != crc:
            raise DocumentError(ExceptionCode.CORRUPT, "the member's CRC does not match")


def all_members(
    reader: ArchiveReader, size: int, limits: Limits, *, solid: bool, file: BinaryIO, what: str, end: int | None = None
) -> Iterator[Child]:
    """Every member but directories, its position among all as ordinal. DocumentError where the archive is cut or
    damaged: the rest is lost. The bytes of `file` after its end, or after the last member, are accounted for (see `rest`)."""
    members = Members(reader, size, limits, solid=solid)
    position = 0
    try:
        while (entry := members.next()) is not None:
            if not entry.directory or entry.size:
                yield members.child(entry, position)
            position += 1
    except DocumentError as error:
        left = max(0, size - reader.position)
        raise DocumentError(error.code, f"{error.detail}; {left:,} bytes of the {what} were left") from error
    yield from rest(file, reader.position if end is None else end, size, position, what)
