"""Unix archives (`ar`, Debian packages), with the long names of System V, GNU and BSD, read with libarchive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from readers.archives.libarchive.library import ArchiveReader
from readers.archives.libarchive.members import all_members
from readers.archives.names import shown
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.records import Limits, TextState

_TABLES = (b"/", b"/SYM64/")  # lists of the symbols of object files
_BSD_TABLE = b"__.SYMDEF"


class ArHandler(LeafHandler):
    """An archive; its members are its children, with their position as ordinal, that of a symbol table counted."""

    name = "ar"
    media_types: tuple[str, ...] = ("application/x-archive",)
    container = True
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Unix archives (ar) and Debian packages",
            extensions=("a", "ar", "deb"),
            children="members in order, not the symbol table",
            leaves_out=(
                "times, owners and permissions of members",
                "members after a damaged one",
                "thin archives, whose members are stored elsewhere",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members in order; DocumentError where the archive is damaged."""
        with source.open() as file, closing(ArchiveReader(file, source.size, "ar")) as reader:
            for child in shown(all_members(reader, source.size, limits, solid=False, file=file, what="ar archive")):
                if child.name not in _TABLES and not child.name.startswith(_BSD_TABLE):
                    yield child

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: an archive has none of its own."""
        return Text(state=TextState.EMPTY)


HANDLERS: tuple[Handler, ...] = (ArHandler(),)
