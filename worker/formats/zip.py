"""Zip archives (APPNOTE 6.3.10), by their central directory; cut ones by their local headers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import BinaryIO

from core.errors import DocumentError, ExceptionCode
from core.records import Kind, Limits, TextState
from worker.formats.base import Child, Handler, LeafHandler, Part, Source, Text
from worker.formats.inflate import METHODS
from worker.formats.streams import SMALL_MEMBER
from worker.formats.zip_directory import (
    LOCAL,
    LOCAL_SIGNATURE,
    SPLIT,
    Directory,
    Entry,
    find_directory,
    iter_entries,
    overlapping,
)
from worker.formats.zip_member import MemberReader
from worker.formats.zip_salvage import salvage

_FIRST_VOLUME = b"PK\x07\x08" + LOCAL_SIGNATURE  # of a split archive (APPNOTE 8.5.3)


class ZipHandler(LeafHandler):
    """An archive; its members are its children, with the index in the central directory as ordinal. Directory
    entries are counted in the index and are not items."""

    name = "zip"
    media_types: tuple[str, ...] = ("application/zip",)
    container = True
    splits = True
    whole = False

    def announced(self, source: Source) -> int | None:
        """Members in the central directory, the lost ones of a broken directory included; None without one."""
        count = 0
        try:
            with source.open() as file:
                for entry in iter_entries(file, find_directory(file, source.size)):
                    count += not entry.directory
        except DocumentError as error:
            return count + error.missing if error.missing else count or None
        return count

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        """Ranges of directory indexes of about that many bytes, inflated or not, whichever is more."""
        cuts, weight, index, announced = [0], 0, -1, 0
        try:
            with source.open() as file:
                directory = find_directory(file, source.size)
                announced = directory.entries
                for entry in iter_entries(file, directory):
                    index = entry.index
                    if weight >= target_bytes:
                        cuts.append(index)
                        weight = 0
                    weight += max(entry.size, entry.compressed)
        except DocumentError:
            if index < 0:
                return []  # `children` says why
        if len(cuts) < 2:
            return []
        # The last range reaches to where the directory says that it ends, so that it meets what is wrong there.
        cuts.append(max(index + 1, announced))
        return [Part(start=a, stop=b) for a, b in itertools.pairwise(cuts)]

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members in directory order. Without a readable directory: those that are complete, by local headers,
        then `truncated`. A member that cannot be had is a Child with an error that is not emitted."""
        with source.open() as file:
            try:
                directory = find_directory(file, source.size)
            except DocumentError as error:
                if error.code is not ExceptionCode.TRUNCATED or (part and part.start > 0):
                    raise
                yield from salvage(file, source.size, limits)
                if source.head.startswith(_FIRST_VOLUME):
                    raise DocumentError(ExceptionCode.UNSUPPORTED, SPLIT) from error
                raise
            yield from _members(file, source.size, directory, part)

    def text(self, source: Source, limits: Limits) -> Text:
        """None: an archive says nothing by itself."""
        return Text(state=TextState.EMPTY)


def _members(file: BinaryIO, size: int, directory: Directory, part: Part | None) -> Iterator[Child]:
    overlaps = overlapping(file, directory)
    for entry in iter_entries(file, directory):
        if part is not None:
            if entry.index < part.start:
                continue
            if entry.index >= part.stop:
                return
        if entry.directory:
            continue
        if entry.link:
            yield link_member(entry.name, entry.index)
            continue
        try:
            if entry.index in overlaps:
                raise DocumentError(ExceptionCode.CORRUPT, "the member's data overlaps another member's")
            yield _member(file, size, entry)
        except DocumentError as error:
            yield failed_member(entry.name, entry.index, error)


def failed_member(name: bytes, ordinal: int, error: DocumentError) -> Child:
    """A member that is announced and has no row."""
    detail = f"{name[:80].decode('utf-8', 'backslashreplace')!r}: {error.detail}"
    return Child(
        name=name,
        kind=Kind.ARCHIVE_MEMBER,
        ordinal=ordinal,
        data=b"",
        error=DocumentError(error.code, detail, missing=1),
        emit=False,
    )


def link_member(name: bytes, ordinal: int) -> Child:
    """A symbolic link: a row without bytes."""
    error = DocumentError(ExceptionCode.SYMLINK, "a link in the archive; not followed")
    return Child(name=name, kind=Kind.ARCHIVE_MEMBER, ordinal=ordinal, error=error, media_type="inode/symlink")


def _member(file: BinaryIO, archive_size: int, entry: Entry) -> Child:
    if entry.encrypted:
        raise DocumentError(ExceptionCode.ENCRYPTED, "the member needs a password")
    if entry.method not in METHODS:
        raise DocumentError(ExceptionCode.UNSUPPORTED, f"compression method {entry.method} cannot be read")
    reader = open_member(file, archive_size, entry)
    small = entry.size <= SMALL_MEMBER and entry.compressed <= SMALL_MEMBER
    return Child(
        name=entry.name,
        kind=Kind.ARCHIVE_MEMBER,
        ordinal=entry.index,
        data=reader.whole() if small else None,
        stream=None if small else reader.stream(),
        size_hint=None if small else entry.size,
    )


def open_member(file: BinaryIO, archive_size: int, entry: Entry) -> MemberReader:
    """A reader over a member's data; `corrupt` when its local header is not where the directory says."""
    file.seek(min(entry.offset, archive_size))
    header = file.read(LOCAL.size)
    if len(header) < LOCAL.size or not header.startswith(LOCAL_SIGNATURE):
        raise DocumentError(ExceptionCode.CORRUPT, "no local header where the directory says")
    fields = LOCAL.unpack(header)
    start = entry.offset + LOCAL.size + fields[9] + fields[10]
    if start + entry.compressed > archive_size:
        raise DocumentError(ExceptionCode.CORRUPT, "the member reaches beyond the end of the archive")
    return MemberReader(file, start, entry.compressed, entry.size, entry.crc, entry.method)


HANDLERS: tuple[Handler, ...] = (ZipHandler(),)
