"""Publisher documents: the text of all frames, which is in one stream, and pictures.

The format is not published. The pages of Apache POI on HPBF describe the stream of text: a directory of entries of 24
bytes, each with the kind of a piece and its location."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, truncated, unsupported
from readers.office import art as office_art
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.records import Limits

_CONTENTS = ("Quill", "QuillSub", "CONTENTS")
_DRAWING = ("Escher", "EscherStm")
_PICTURES = (_DRAWING, ("Escher", "EscherDelayStm"))
_MAGIC, _DIRECTORY = b"CHNKINK ", 0x20
_ENTRY = struct.Struct("<H4s6x4sII")  # its size, use, kind, start of the piece, length of the piece
_MOST = 64  # entries
_SHOWN = {
    **dict.fromkeys(range(0x20)),  # marks of fields and objects, which are not text
    0x09: "\t",
    0x0A: "\n",
    0x0B: "\n",
    0x0C: "\n",
    0x0D: "\n",
    0x1E: "-",
    0x1F: "\xad",
}


class PublisherHandler(LeafHandler):
    """A document of Publisher 98 or newer."""

    name = "pub"
    declared = Declared(
        title="Publisher documents",
        extensions=("pub",),
        text="the text of all frames, in the order in which it is stored, then WordArt",
        metadata=property_set.KEYS,
        children="pictures",
        leaves_out=(
            "documents older than Publisher 98: the exception is `unsupported`",
            "link targets; embedded objects",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield pictures. A document that cannot be opened has none: `text` reports why."""
        try:
            compound = CompoundFile(source.whole(limits.parse_bytes))
        except DocumentError:
            return
        yield from office_art.children(compound.read(compound.root.stream(*path)) for path in _PICTURES)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return text of frames and WordArt. Raises DocumentError `unsupported` if it is not stored as known."""
        compound = CompoundFile(source.whole(limits.parse_bytes))
        contents = compound.read(compound.root.stream(*_CONTENTS))
        pieces = list(_pieces(contents))
        letters = list(office_art.lettering(compound.read(compound.root.stream(*_DRAWING))))
        lacks = compound.error
        if not pieces:
            lacks = lacks or unsupported("it has no text in the format of Publisher 98 or newer")
            if not letters:
                raise lacks
        collector = clean.Collector(limits.text_characters)
        for start, length in pieces:
            text = contents[start : start + length].decode("utf-16-le", "replace").translate(_SHOWN)
            if not collector.add(text):
                break
        all(map(collector.add, letters))
        out = collector.result("\n", metadata=property_set.metadata(compound))
        out.error = lacks
        if any(start + length > len(contents) for start, length in pieces):
            out.error = out.error or truncated("the text is incomplete")
        return out


def _pieces(contents: bytes) -> Iterator[tuple[int, int]]:
    if not contents.startswith(_MAGIC):
        return
    for number in range(_MOST):
        at = _DIRECTORY + number * _ENTRY.size
        if at + _ENTRY.size > len(contents):
            return
        size, _, kind, start, length = _ENTRY.unpack_from(contents, at)
        if size == _ENTRY.size and kind == b"TEXT" and length:
            yield start, length
