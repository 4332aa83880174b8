"""cpio archives (binary of both byte orders, odc, newc, newc with checksums), read with libarchive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from readers.archives.libarchive.library import ArchiveReader
from readers.archives.libarchive.members import all_members
from readers.archives.names import shown
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.records import Limits, TextState


class CpioHandler(LeafHandler):
    """An archive; its members are its children, with their position as ordinal. Directories are counted in it and are
    not items."""

    name = "cpio"
    media_types: tuple[str, ...] = ("application/x-cpio",)
    container = True
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="cpio archives",
            extensions=("cpio",),
            children="members in order; links and special files as items without bytes",
            leaves_out=(
                "times, owners and permissions of members",
                "members behind damage",
                "directory entries, which are no items",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members in order; DocumentError where the archive is damaged."""
        with source.open() as file, closing(ArchiveReader(file, source.size, "cpio")) as reader:
            yield from shown(all_members(reader, source.size, limits, solid=False, file=file, what="cpio archive"))

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: an archive has none of its own."""
        return Text(state=TextState.EMPTY)


HANDLERS: tuple[Handler, ...] = (CpioHandler(),)
