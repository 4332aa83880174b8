"""7z archives, solid ones too, read from front to back a member at a time."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any, BinaryIO

from readers.archives.libarchive import ArchiveReader
from readers.archives.sevenz.codecs import BLOCK, FolderReader, Properties, last_block
from readers.archives.sevenz.header import Archive, Coder, Folder, SevenZipEntry, is_header, read_archive
from readers.archives.zip.handler import failed_member, link_member, streamed_member
from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import DocumentError, ExceptionCode, corrupt, expansion_limit, unsupported
from readers.passwords import Opened, Passwords, TryBudget
from readers.records import FixedLimits, Kind, Limits
from readers.rest import rest
from readers.streams import CHUNK, SMALL_MEMBER, PieceStream, RangeStream, as_binary

# Which password opens an encrypted folder of a 7z archive: the format has no check of its own, so a password is right
# when the first file comes out with its CRC (of a large one: when its beginning can be decoded). A header without a
# CRC has to be one. The CRC of a file of one byte fits one wrong password in 256, so after a short file the next has
# to come out too; where there is none, the last block has to be filled up with zeros, as 7-Zip does it.

_CONCLUSIVE = 8  # bytes; a wrong password does not give so many with the right CRC by chance


def unlock(
    file: BinaryIO, folder: Folder, archive_size: int, passwords: Passwords, budget: TryBudget, *, header: bool = False
) -> Opened[FolderReader]:
    """Return a reader over the folder (of a packed `header`, or of files), from its beginning. Raises DocumentError
    `encrypted` if no password fits, or the error that a reader finds with any password."""
    aes = folder.aes
    assert aes is not None  # asked before
    properties = Properties(aes.properties)

    def attempt(password: str) -> FolderReader | None:
        reader = FolderReader(file, folder, archive_size, password)
        if reader.problem is not None:
            raise reader.problem
        fits = _right(reader, folder, header=header) and _filled_up(file, folder, aes, password)
        return FolderReader(file, folder, archive_size, password) if fits else None

    lock = aes.properties + f"{folder.position} {folder.packed} {folder.size} {archive_size}".encode()
    return passwords.open(lock, attempt, cost=properties.cost, budget=budget)


def _right(reader: FolderReader, folder: Folder, *, header: bool) -> bool:
    """Whether the first files of the folder match their CRCs, as many of them as the check needs."""
    checked = 0
    for size, crc in zip(folder.sizes, folder.crcs, strict=True) if folder.sizes else [(folder.size, folder.crc)]:
        if not _comes_out(reader, size, crc, header=header):
            return False
        checked += size
        if checked >= _CONCLUSIVE:
            break
    return True


def _comes_out(reader: FolderReader, size: int, crc: int | None, *, header: bool) -> bool:
    left, computed, pieces = min(size, SMALL_MEMBER), 0, []
    try:
        while left > 0 and (piece := reader.read(min(CHUNK, left))):
            computed = zlib.crc32(piece, computed)
            left -= len(piece)
            if header and crc is None:
                pieces.append(piece)
    except DocumentError as error:
        if error.code is not ExceptionCode.CORRUPT:
            raise
        return False
    if left or (crc is not None and size <= SMALL_MEMBER and computed != crc):
        return False
    return not pieces or size > SMALL_MEMBER or is_header(b"".join(pieces))


def _filled_up(file: BinaryIO, folder: Folder, aes: Coder, password: str) -> bool:
    """Return whether only zeros fill the space between the end of a short folder and the end of its last block; a long
    one is not checked."""
    filling = folder.packed - aes.size
    if folder.size >= _CONCLUSIVE or folder.chain[0] is not aes or folder.packed % BLOCK or not 0 < filling < BLOCK:
        return True
    start = max(folder.position, folder.position + folder.packed - 2 * BLOCK)
    file.seek(start)
    data = file.read(folder.position + folder.packed - start)
    if len(data) % BLOCK:  # it breaks off, which the reader reports
        return True
    return not any(last_block(aes.properties, password, data[:-BLOCK], data[-BLOCK:])[-filling:])


# 7z folders that our decoders do not support (PPMd, BCJ2), decoded by libarchive.

_MOST_PASSES = 16  # over one archive: after damage libarchive stops, and a new pass begins


class LibraryFolders:
    """The folders of one archive that libarchive decodes, in their order."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._size = file, size
        self._entries: Iterator[tuple[int, Iterator[bytes]]] = iter(())
        self._passes = 0

    def entries(self, first: int) -> Iterator[bytes]:
        """Yield the bytes of the entries from position `first` on, one after the other. Raises DocumentError."""
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
            raise corrupt("the archive is damaged in too many places")
        self._passes += 1
        self._entries = self._walk()
        return next((pieces for position, pieces in self._entries if position >= first), iter(()))

    def _walk(self) -> Iterator[tuple[int, Iterator[bytes]]]:
        whole = as_binary(RangeStream(self._file, 0, self._size))
        with closing(ArchiveReader(whole, self._size, "7zip")) as reader:
            position = 0
            while (entry := reader.next()) is not None:
                yield position, reader.pieces(entry.size)
                position += 1


class LibraryFolder:
    """One folder, read like a `FolderReader`. `unknown` is the error if libarchive does not know the folder's method
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


_VOLUME = re.compile(rb"\.\d{3}\Z")


class SevenZipHandler(ContainerHandler):
    """An archive; its members are its children, with the position in the header as ordinal. Directory entries are
    counted in the position and are not items."""

    name = "7z"
    declared = Declared(
        title="7z archives",
        extensions=("7z",),
        children="members in the order of the header, also in solid archives; symbolic links as items without bytes",
        announces="the header",
        leaves_out=(
            "times, owners and permissions of members",
            "members and headers that need a password which is not in the bank (`--passwords`)",
            "members after damage in a solid block",
            "methods other than Copy, Deflate, Deflate64, bzip2, LZMA, LZMA2, PPMd, Zstandard, Delta, BCJ and BCJ2 "
            "(ARM64 and Brotli, for example), and PPMd and BCJ2 that need a password",
            "one part of a split archive",
            "dictionaries of more than 256 MB",
            "directory entries, which are not items",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Return the number of entries other than directories; None if the header cannot be read."""
        try:
            with source.open() as file:
                return sum(
                    not entry.directory
                    for entry in _read(file, source, FixedLimits(), TryBudget(FixedLimits())).entries
                )
        except DocumentError:
            return None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the members in the order of the header. A member that cannot be read (encrypted, damaged, an unknown
        method, or after such damage in a solid archive) is a Child with an error that is not emitted. Raises the errors
        of `read_archive` if there is no readable header."""
        with source.open() as file:
            budget = TryBudget(limits)
            archive = _read(file, source, limits, budget)
            yield from _Members(file, source, archive, limits, budget).children()
            yield from rest(file, archive.end, source.size, len(archive.entries), "7z archive")


def _read(file: BinaryIO, source: Source, limits: Limits, budget: TryBudget) -> Archive:
    def read_at(position: int, count: int) -> bytes:
        file.seek(position)
        return file.read(count)

    def decode(folder: Folder) -> bytes:
        reader = FolderReader(file, folder, source.size)
        if folder.aes is not None:
            reader = unlock(file, folder, source.size, source.passwords, budget, header=True).value
        return b"".join(iter(lambda: reader.read(CHUNK), b""))

    try:
        return read_archive(read_at, source.size, limits.parse_bytes, decode)
    except DocumentError as error:
        if error.code is ExceptionCode.TRUNCATED and _VOLUME.search(source.name):
            raise unsupported("one part of a split 7z archive; join the parts first") from error
        raise


class _Members:
    """One pass over the entries, with the folder that holds the next file with data."""

    def __init__(self, file: BinaryIO, source: Source, archive: Archive, limits: Limits, budget: TryBudget) -> None:
        self._file, self._size, self._archive = file, source.size, archive
        self._passwords, self._purse = source.passwords, budget
        self._notes: dict[str, Any] = {}  # how the folder was opened
        self._folders = iter(archive.folders)
        self._reader: FolderReader | LibraryFolder | None = None
        self._library = LibraryFolders(file, source.size)
        self._files: Iterator[tuple[int, int | None]] = iter(())  # lengths and CRCs of the folder's remaining files
        self._unread = 0  # bytes of the last member that the caller left
        self._skippable = max(limits.expansion_floor, int(limits.expansion_ratio * source.size))

    def children(self) -> Iterator[Child]:
        for entry in self._archive.entries:
            length, crc = self._next_file(entry.position) if entry.has_data else (0, None)
            if not entry.directory:
                yield self._child(entry, length, crc)
            elif entry.has_data:
                self._unread = length

    def _next_file(self, position: int) -> tuple[int, int | None]:
        self._skip()
        while (entry := next(self._files, None)) is None:
            folder = next(self._folders)  # the header was checked: there is data for every file
            self._reader, self._notes = self._open(folder, position)
            self._files = iter(zip(folder.sizes, folder.crcs, strict=True))
        return entry

    def _open(self, folder: Folder, position: int) -> tuple[FolderReader | LibraryFolder, dict[str, Any]]:
        """Return a reader over the folder, whose first file is the entry at `position`, and its metadata."""
        reader = FolderReader(self._file, folder, self._size)
        if folder.aes is None:
            if reader.problem is not None and reader.problem.code is ExceptionCode.UNSUPPORTED:
                return LibraryFolder(self._library, position, reader.problem), {}
            return reader, {}
        try:
            opened = unlock(self._file, folder, self._size, self._passwords, self._purse)
        except DocumentError as error:
            reader.problem = error
            return reader, {}
        return opened.value, opened.metadata

    def _skip(self) -> None:
        """Skip the rest of the last member. Damage met there is reported at the next member, and so is a bomb that the
        caller left, because it has to be decoded to reach the next member."""
        self._skippable -= self._unread
        if self._skippable < 0 and self._unread and self._reader is not None:
            beyond = "it follows more data than the archive may expand to"
            self._reader.problem = self._reader.problem or expansion_limit(beyond)
        try:
            while self._unread > 0 and self._piece():
                pass
        except DocumentError:
            pass
        self._unread = 0

    def _checked(self, crc: int | None) -> Iterator[bytes]:
        """Yield the pieces of one member. Raises DocumentError `corrupt` at the end if its CRC is wrong."""
        computed = 0
        while piece := self._piece():
            computed = zlib.crc32(piece, computed)
            yield piece
        if crc is not None and computed != crc:
            raise corrupt("the member's CRC does not match")

    def _piece(self) -> bytes:
        assert self._reader is not None  # an entry with data has set it
        piece = self._reader.read(min(CHUNK, self._unread))
        if not piece and self._unread:
            self._reader.problem = corrupt("the packed data ends before the member does")
            raise self._reader.problem
        self._unread -= len(piece)
        return piece

    def _child(self, entry: SevenZipEntry, length: int, crc: int | None) -> Child:
        self._unread = length
        if entry.link:
            return link_member(entry.name, entry.position)
        if not entry.has_data:
            return Child(name=entry.name, kind=Kind.ARCHIVE_MEMBER, ordinal=entry.position, data=b"")
        assert self._reader is not None  # as above
        if self._reader.problem is not None:
            return failed_member(entry.name, entry.position, self._reader.problem)
        stream = PieceStream.of(self._checked(crc))
        return streamed_member(entry.name, entry.position, stream, length, dict(self._notes))
