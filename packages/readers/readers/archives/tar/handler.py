"""Tar archives."""

from __future__ import annotations

from collections.abc import Iterator

from readers.archives.names import shown
from readers.archives.tar.children import tar_children
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.records import Limits, TextState


class TarHandler(LeafHandler):
    """An archive without a directory: read from front to back by one slot."""

    name = "tar"
    media_types: tuple[str, ...] = ("application/x-tar",)
    container = True
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Tar archives",
            extensions=("tar",),
            children="members in their order, under their pax or GNU long names, of archives one behind the other too; "
            "sparse files whole; links, FIFOs and devices as items without bytes, unless bytes are stored with them; what "
            "follows the end and is of a known type",
            leaves_out=(
                "times, owners and permissions of members",
                "the beginning of a file that is continued from another volume",
                "directory entries, which are no items",
                "what fills up the last block of a member",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """See `tar_children`."""
        with source.open() as file:
            yield from shown(tar_children(file, size=source.size))

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: an archive has none of its own."""
        return Text(state=TextState.EMPTY)


HANDLERS: tuple[Handler, ...] = (TarHandler(),)
