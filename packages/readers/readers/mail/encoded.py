"""Loose files in uuencode, yEnc or BinHex: text that contains other files (readers.mail.inline)."""

from __future__ import annotations

from collections.abc import Iterator

from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS
from readers.clean import Collector
from readers.mail.eml import child_of
from readers.mail.parts import text_with_files
from readers.mail.text import body_texts, parts_of, read_in
from readers.records import Kind, Limits
from readers.text.plain import TEXT
from readers.text.unread import unread_in


class EncodedHandler(LeafHandler):
    """A text with files in it. If it is over the parse limit it is read as plain text."""

    name = "encoded"
    whole = False
    declared = Declared(
        title="Files in uuencode, yEnc and BinHex",
        extensions=("uue", "uu", "hqx", "yenc"),
        text="the text around the files",
        metadata=CHARSET_KEYS,
        children="the files, decoded",
        leaves_out=(
            "resource forks of BinHex files",
            "files beyond the first 1,000",
            "files over the parse limit, which are read as plain text",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the files in order. Damaged ones have the error `corrupt` and their readable bytes."""
        if source.size > limits.parse_bytes:
            return
        files = (one for one in parts_of(text_with_files(source.whole(limits.parse_bytes))) if not one.is_body)
        for position, file in enumerate(files):
            yield child_of(file, position, Kind.EMBEDDED_OBJECT, media_type=None)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the lines that belong to no file."""
        if source.size > limits.parse_bytes:
            return TEXT.text(source, limits)
        root = text_with_files(source.whole(limits.parse_bytes))
        collector = Collector(limits.text_characters)
        collector.pieces(body_texts(root))
        out = collector.result("\n", detected=read_in(root))
        out.error = unread_in(out.text)
        return out
