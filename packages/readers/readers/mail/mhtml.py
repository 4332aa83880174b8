"""Web archives (MHTML, RFC 2557): a page with its resources, as a MIME message."""

from __future__ import annotations

from collections.abc import Iterator

from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS
from readers.clean import Collector, values
from readers.mail.eml import child_of, cut, in_pages, text_cut
from readers.mail.headers import noted_date
from readers.mail.parts import Message
from readers.mail.text import body_texts, damage_of, read_in
from readers.records import Kind, Limits
from readers.text.web_archive import name_of


class MhtmlHandler(LeafHandler):
    """A saved web page. It is a document, not a message, whatever its header contains."""

    name = "mhtml"
    declared = Declared(
        title="Web archives",
        extensions=("mht", "mhtml"),
        text="text of the web page and its frames",
        metadata=("title", "address", "created", *CHARSET_KEYS),
        children="files in `data:` URIs; pictures, styles and scripts in order, named by the end of their address",
        leaves_out=(
            "text that scripts would write",
            "parts beyond the first 100,000: the exception is `children_limit`",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield files in `data:` URIs, then pictures, styles and scripts, named by the last part of their address.
        Raises DocumentError `truncated` at the end if the closing boundary is missing."""
        message = Message(source.whole(limits.parse_bytes))
        yield from in_pages(message, Kind.EMBEDDED_OBJECT)
        for position, leaf in enumerate(message.child_parts()):
            name = leaf.file_name or name_of(leaf.fields.text(b"content-location"))
            yield child_of(leaf, position, Kind.EMBEDDED_OBJECT, media_type=leaf.media_type, name=name)
        if (error := cut(message, "web archive")) is not None:
            raise error

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text of the web page and of its frames; title, address and date of the snapshot as metadata."""
        message = Message(source.whole(limits.parse_bytes))
        collector = Collector(limits.text_characters)
        collector.pieces(body_texts(message.root))
        fields = message.root.fields
        address = fields.text(b"snapshot-content-location") or fields.text(b"content-location")
        saved = noted_date(fields.stored(b"date"))
        about = values((("title", fields.text(b"subject")), ("address", address), ("created", saved)))
        out = collector.result("\n", detected=read_in(message.root), metadata=about)
        out.error = damage_of(message.root) or text_cut(message, "web archive")
        return out
