"""Gzip files (RFC 1952), of several members too; a tar inside one is opened with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from core.errors import DocumentError
from core.records import Kind, Limits, TextState
from worker.formats.base import Child, Handler, LeafHandler, Part, Source, Text
from worker.formats.gzip_reader import GzipReader
from worker.formats.streams import CHUNK, PieceStream, as_binary
from worker.formats.tar_children import tar_children
from worker.formats.tar_header import is_tar_header

_SMALL = 1 << 20  # content up to this size is handed out as bytes


class GzipHandler(LeafHandler):
    """One compressed file, or the members of a compressed tar."""

    name = "gzip"
    media_types: tuple[str, ...] = ("application/gzip",)
    container = True
    whole = False

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The members of the tar inside; otherwise the content as one child. What was decompressed before the file
        is cut or damaged is handed out; the error comes after it."""
        with source.open() as file:
            content = as_binary(PieceStream(GzipReader(file).piece))
            first, error = _first(content)
            if error is not None and not first:
                raise error
            rest = as_binary(PieceStream(lambda: content.read(CHUNK), first, error))
            if is_tar_header(first[:512]):
                yield from tar_children(rest, size=None)
                return
            whole = error is None and len(first) < _SMALL
            yield Child(
                name=content_name(source),
                kind=Kind.ARCHIVE_MEMBER,
                ordinal=0,
                data=first if whole else None,
                stream=None if whole else rest,
            )

    def text(self, source: Source, limits: Limits) -> Text:
        """None: an archive says nothing by itself."""
        return Text(state=TextState.EMPTY)


def _first(content: BinaryIO) -> tuple[bytes, DocumentError | None]:
    """The first bytes, and why there are no more of them."""
    pieces: list[bytes] = []
    left = _SMALL
    try:
        while left > 0 and (piece := content.read(left)):
            pieces.append(piece)
            left -= len(piece)
    except DocumentError as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


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
    own = source.name
    for suffix in (b".gz", b".tgz", b".z"):
        if own.lower().endswith(suffix) and len(own) > len(suffix):
            return own[: -len(suffix)]
    return own or b"content"


HANDLERS: tuple[Handler, ...] = (GzipHandler(),)
