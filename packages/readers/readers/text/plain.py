"""Plain text, source code, JSON and XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS, Decoder, decode
from readers.charset_labels import by_declaration
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.records import Limits, TextState
from readers.text import escapes
from readers.text.unread import unread_in

# Unknown subtypes of text come here too (RFC 2046, 4.1.4): the registry sees to it.
_TEXT = ("plain", "markdown", "css", "javascript", "troff", "x-script", "x-log", "x-python", "x-c")
_APPLICATION = ("application/json", "application/x-ndjson", "application/javascript", "application/sql")


class TextHandler(LeafHandler):
    """Text unchanged, of any size: read in pieces up to the limit of characters. After JSON, the letters that are
    escaped in it."""

    name = "text"
    media_types: tuple[str, ...] = (*(f"text/{name}" for name in _TEXT), *_APPLICATION)
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Plain text, source code, logs, JSON",
            extensions=("txt", "log", "md", "json", "ndjson", "js", "css", "sql", "py", "c", "sh", "ini"),
            text="unchanged, in any character set: by its byte-order mark, as UTF-8, else detected; after JSON those of its "
            "strings, each once, in which an escape replaces a letter or white space, decoded",
            metadata=CHARSET_KEYS,
            leaves_out=(
                "bytes that fit no charset, which become U+FFFD",
                "what escapes stand for in anything but JSON: they stay as they are",
            ),
        ),
    )

    def text(self, source: Source, limits: Limits) -> Text:
        """The text; `charset` as metadata. Bytes that fit no charset become U+FFFD."""
        out = as_it_stands(source, limits)
        if out.state is not TextState.TRUNCATED_BY_LIMIT and escapes.is_json(out.text) and "\\" in out.text:
            collector = clean.Collector(limits.text_characters)
            collector.add(out.text)
            all(collector.add(f"\n{string}") for string in escapes.decoded_strings(out.text))
            both = collector.result()
            out.text, out.state = both.text, both.state or out.state
        out.error = out.error or unread_in(out.text)
        return out


def as_it_stands(
    source: Source, limits: Limits, declared: str = "", form: Callable[[Iterator[str]], Iterator[str]] = iter
) -> Text:
    """A text in pieces, each in this form, up to the limit of characters; its charset as metadata."""
    decoder = Decoder(source.head, declared)
    collector = clean.Collector(limits.text_characters)
    with source.open() as stream:
        for piece in form(decoder.chunks(stream)):
            if not collector.add(piece):
                break
    return collector.read_in(decoder.detected)


class XmlHandler(LeafHandler):
    """XML without its tags; unchanged when it is not well-formed, holds entities of its own or is large."""

    name = "xml"
    media_types: tuple[str, ...] = (
        "application/xml",
        "text/xml",
        "image/svg+xml",
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/xslt+xml",
    )
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="XML and SVG",
            extensions=("xml", "svg", "rss", "atom", "rdf", "xsl"),
            text="the character data of all elements, then sentences in attributes of elements that hold nothing else; of a "
            "file without any character data all attributes, as of text messages that a phone saved; the file unchanged "
            "where it is not well-formed, defines entities or has more than 16 MB, but with letters for their numbers (`&#252;`)",
            metadata=(*CHARSET_KEYS, "well_formed"),
            children="of web archives in XML the page and what belongs to it",
            leaves_out=(
                "other attributes, all of SVG's; comments and processing instructions",
                "data (bytes) in property lists",
                "entities and everything outside the file",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Resources of a web archive; nothing else in XML has children."""
        if b"<plist" in source.head and source.size <= min(limits.parse_bytes, _XML_TREE_BYTES):
            from readers.text import web_archive
            from readers.text.xml_tree import web_resources

            yield from web_archive.children(web_resources(source.whole(limits.parse_bytes)))

    def text(self, source: Source, limits: Limits) -> Text:
        """Character data of all elements, and attributes where they stand for it; `charset`, and `well_formed` false when tags
        were left in for that reason."""
        declared = by_declaration(source.head)
        if source.size > min(limits.parse_bytes, _XML_TREE_BYTES):
            return as_it_stands(source, limits, declared, escapes.with_letters)
        text, detected = decode(source.whole(limits.parse_bytes), declared)
        pieces = _character_data(text)
        collector = clean.Collector(limits.text_characters)
        collector.add("".join(escapes.with_letters((text,))) if pieces is None else "\n".join(pieces))
        out = collector.read_in(detected)
        if pieces is None:
            out.metadata["well_formed"] = False
            if _breaks_off(text):
                out.error = DocumentError(ExceptionCode.TRUNCATED, "the XML ends before its root element does")
        return out


_ROOT = re.compile(r"<([^\s<>!?/]{1,200})[\s>]")
_XML_TREE_BYTES = 16_000_000  # lxml's tree takes some ten times the bytes of the document


def _breaks_off(text: str) -> bool:
    """Whether the root element of a document that is not well-formed has no end."""
    root = _ROOT.search(text)
    ended = root is None or text.rstrip().endswith("/>") or f"</{root[1]}" in text[root.end() :]
    return not ended or text.endswith("\ufffd")


def _character_data(text: str) -> list[str] | None:
    """Non-blank character data in order; None when the document is not well-formed. Nothing outside the document is
    fetched and no entity of its own is replaced, so a small document stays small. The parser is set to UTF-8, whatever
    the document declares, since it would otherwise follow the declaration."""
    from lxml import etree  # plain text, which most files are, does without

    from readers.text.xml_tree import said

    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_pis=True,
        remove_comments=True,
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or next(root.iter(etree.Entity), None) is not None:
        return None
    return said(root, text)


TEXT = TextHandler()
HANDLERS: tuple[Handler, ...] = (TEXT, XmlHandler())
