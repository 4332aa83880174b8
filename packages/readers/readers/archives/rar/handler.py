"""RAR archives, version 4 and 5: our own walk over the headers says what there is, libarchive unpacks it.

Each member of an archive that is not solid is unpacked by itself, so that damage stays with the member that has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO, cast

from readers.archives.libarchive.library import ArchiveReader, library
from readers.archives.libarchive.members import Members
from readers.archives.names import shown
from readers.archives.rar.headers import Layout, Member, members, read_layout
from readers.archives.zip.handler import failed_member, link_member
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind, Limits, TextState
from readers.rest import rest
from readers.streams import JoinedRange

_FORMATS = {4: "rar", 5: "rar5"}
_MOST_PREFIX = 4096  # bytes up to the end of the main header that are read again for each member
_BEHIND = 1024  # bytes behind a member that libarchive may look at; at the very end it wants some


class RarHandler(LeafHandler):
    """An archive; its members are its children, with the position among the file headers as ordinal. Directories are
    counted in the position and are not items."""

    name = "rar"
    media_types: tuple[str, ...] = ("application/vnd.rar",)
    container = True
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="RAR archives, versions 4 and 5, solid ones too",
            extensions=("rar",),
            children="members in the order of their headers; symbolic links, hard links and copies of another member "
            "as items without bytes",
            announces="the chain of file headers, where it is whole",
            leaves_out=(
                "members that need a password, and all of an archive whose names do",
                "members that reach into another part of a split archive, and that part's",
                "compression of versions before 2.9, and dictionaries of more than 64 MB",
                "members behind a damaged one in a solid archive",
                "directory entries, which are no items",
            ),
        ),
    )

    def announced(self, source: Source) -> int | None:
        """File headers that are no directories; None where the chain breaks off or goes on in another part."""
        try:
            with source.open() as file:
                layout = read_layout(file)
                if layout.volume:
                    return None
                return sum(not member.directory for member in members(file, source.size, layout))
        except DocumentError:
            return None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members in order. One that cannot be had is a Child with an error that is not emitted. Raises
        `encrypted` where the headers are, `unsupported` behind the last member of one part of a split archive."""
        library()
        with source.open() as file:
            layout = read_layout(file)
            ends: list[int] = []
            headers = members(file, source.size, layout, ends)
            at_once = layout.solid or layout.prefix > _MOST_PREFIX
            ordinal = 0
            for child in shown((_solid if at_once else _single)(file, source.size, layout, headers, limits)):
                ordinal = child.ordinal + 1
                yield child
            for end in ends:
                yield from rest(file, end, source.size, ordinal, "RAR archive")
            if layout.volume:
                raise DocumentError(
                    ExceptionCode.UNSUPPORTED, "one part of a split RAR archive; join the parts or repack it"
                )

    def text(self, source: Source, limits: Limits) -> Text:
        """None: an archive says nothing by itself."""
        return Text(state=TextState.EMPTY)


def _without_data(member: Member, position: int) -> Child | None:
    """The child for a member whose data cannot be had or that has none."""
    if member.link:
        return link_member(member.name, position)
    if member.split:
        why = DocumentError(ExceptionCode.UNSUPPORTED, "it reaches into another part of a split archive")
        return failed_member(member.name, position, why)
    if member.encrypted:
        why = DocumentError(ExceptionCode.ENCRYPTED, "the member needs a password")
        return failed_member(member.name, position, why)
    if member.size == 0:
        return Child(name=member.name, kind=Kind.ARCHIVE_MEMBER, ordinal=position, data=b"")
    return None


def _single(file: BinaryIO, size: int, layout: Layout, members: Iterator[Member], limits: Limits) -> Iterator[Child]:
    """Each member as if it were the only one: the main header and then its block."""
    file.seek(0)
    prefix = file.read(layout.prefix)
    for position, member in enumerate(members):
        if member.directory:
            continue
        child = _without_data(member, position)
        if child is not None:
            yield child
            continue
        joined = JoinedRange(prefix, file, member.start, min(size, member.end + _BEHIND))
        try:
            reader = ArchiveReader(cast("BinaryIO", joined), joined.size, _FORMATS[layout.version])
        except DocumentError as error:
            yield failed_member(member.name, position, error)
            continue
        with closing(reader):
            yield _read(Members(reader, size, limits, solid=False), member, position)


def _solid(file: BinaryIO, size: int, layout: Layout, members: Iterator[Member], limits: Limits) -> Iterator[Child]:
    """One pass over all; what lies behind a member that could not be decoded is lost, and said to be."""
    joined = JoinedRange(b"", file, 0, size)
    lost: DocumentError | None = None
    with closing(ArchiveReader(cast("BinaryIO", joined), size, _FORMATS[layout.version])) as reader:
        passing = Members(reader, size, limits, solid=True)
        for position, member in enumerate(members):
            without = _without_data(member, position)
            child = failed_member(member.name, position, lost) if lost else _read(passing, member, position)
            if child.error is not None and not child.emit:
                lost = child.error if without is None or without.emit else without.error
            if not member.directory:
                yield without or child


def _read(passing: Members, member: Member, position: int) -> Child:
    """The next member, which is this one, from libarchive."""
    try:
        entry = passing.next()
        if entry is None:
            raise DocumentError(ExceptionCode.TRUNCATED, "the archive ends before the member")
    except DocumentError as error:
        return failed_member(member.name, position, error)
    if entry.directory or member.link or member.directory:
        return Child(name=member.name, kind=Kind.ARCHIVE_MEMBER, ordinal=position, data=b"")
    return passing.child(entry, position, member.name, member.crc)


HANDLERS: tuple[Handler, ...] = (RarHandler(),)
