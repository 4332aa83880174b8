"""Gzip files (RFC 1952), of several members too; a tar inside one is opened with it."""

from __future__ import annotations

from collections.abc import Iterator

from readers.archives.compressed import after_streams, bare_name, content_children, skippable
from readers.archives.gzip.reader import GzipReader
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.records import Limits, TextState


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
            leaves_out=("what follows the last stream, if it is of no known type",),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """See `content_children`."""
        with source.open() as file:
            allowed = skippable(source.size, limits)
            name = content_name(source)
            reader = GzipReader(file)
            for child in content_children(reader.piece, name, allowed):
                if child.name == name:
                    child.shown = _latin(name)
                yield child
            yield from after_streams(file, reader.rest, source.size, "gzip file")

    def text(self, source: Source, limits: Limits) -> Text:
        """None: an archive says nothing by itself."""
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


def _latin(name: bytes) -> str | None:
    """The name as text where it is not UTF-8: then it is Latin-1 (2.3.1)."""
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")
    return None


HANDLERS: tuple[Handler, ...] = (GzipHandler(),)
