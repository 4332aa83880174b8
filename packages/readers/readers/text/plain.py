"""Plain text, source code, JSON and XML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS, Decoder, decode
from readers.charset_labels import by_declaration
from readers.clean import paired
from readers.errors import truncated
from readers.records import Limits, TextState
from readers.text.unread import unread_in

# Escaped letters in unchanged text: strings of JSON (RFC 8259, 7), numeric character references in XML.

# Beginning of JSON, of lines of JSON and of the scripts of Twitter's archives; not of INI files, logs, or code.
_VALUE = r"(?:-?\d[\d.eE+-]{0,30}+|true|false|null)"
_JSON = re.compile(
    rf"\s*+(?:window\.[\w.]{{1,100}}\s*+=\s*+)?(?:\{{\s*+\"|\[\s*+(?:{_VALUE}\s*+,\s*+|(?!)){{0,100}}+[{{\[\"])"
)
# Within a line: all consecutive strings without a backslash at once; else one string. One that does not end reaches
# to the end of the line, so that time is linear in the length.
_STRINGS = re.compile(r"(?:\"[^\"\\\n]*+\"[^\"\n]*+|(?!))++|\"([^\"\\\n]*+(?:\\.[^\"\\\n]*+|(?!))*+)\"?")
# Not `\"`, `\/` and the like, which do not change words
_WITH_ESCAPE = re.compile(r"(?:[^\\]++|\\[^bfnrtu]|(?!))*+\\[bfnrtu]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_STRICT = json.JSONDecoder(strict=False)

_NUMBERS = re.compile(r"(?:&#(?:x[0-9a-fA-F]{1,8}|[0-9]{1,8});|(?!))++")
_NUMBER = re.compile(r"&#(?:x([0-9a-fA-F]+)|([0-9]+));")
_ENTITY = re.compile("&[^;]*;")
_LONGEST = 12  # characters of a number
_MOST = 0x10FFFF


def decoded_strings(text: str) -> Iterator[str]:
    """Yield the decoded strings of JSON in which an escape replaces a letter or white space, each once. Strings need
    not be closed, nor the rest be JSON. Only lines with a backslash are examined."""
    known: set[str] = set()
    at = 0
    while (at := text.find("\\", at)) >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        at = len(text) if end < 0 else end
        for match in _STRINGS.finditer(text, start, at):
            raw = match[1]
            if (
                raw
                and _WITH_ESCAPE.match(_without_ends(raw))
                and (string := _decoded(raw)) not in known
                and not string.isspace()
            ):
                known.add(string)
                yield string


def _without_ends(raw: str) -> str:
    """Remove line ends at its end, as in the lines of a notebook: they add no word."""
    end = len(raw)
    while end > 1 and raw[end - 2] == "\\" and raw[end - 1] in "nrt":
        end -= 2
    return raw[:end]


def _decoded(raw: str) -> str:
    try:
        text: str = _STRICT.decode(f'"{raw}"')
    except ValueError:  # escapes of other languages
        text = _ESCAPE.sub(_character, raw)
    text = paired(text).replace("\0", "")
    try:  # Facebook escapes each byte of UTF-8
        return text if text.isascii() else text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2])


def with_letters(pieces: Iterable[str]) -> Iterator[str]:
    """Yield text in pieces with numeric character references (`&#252;`) decoded and halves of surrogate pairs, as
    phones write them, joined. Names (`&amp;`) stay."""
    half = ""
    for piece in _uncut(pieces, "&", _ENTITY):
        if half or "&#" in piece:
            piece = half + (
                _NUMBERS.sub(lambda numbers: _NUMBER.sub(_letter, numbers[0]), piece) if "&#" in piece else piece
            )
            half = piece[-1] if piece and "\ud800" <= piece[-1] < "\udc00" else ""
            piece = paired(piece[:-1] if half else piece)
        yield piece
    yield paired(half)


def _uncut(pieces: Iterable[str], begin: str, whole: re.Pattern[str]) -> Iterator[str]:
    """Yield the pieces so that none ends within a code that begins with this character."""
    rest = ""
    for piece in pieces:
        piece, rest = rest + piece, ""
        begun = piece.rfind(begin, max(0, len(piece) - _LONGEST))
        if begun >= 0 and not whole.match(piece, begun):
            piece, rest = piece[:begun], piece[begun:]
        yield piece
    yield rest


def _letter(number: re.Match[str]) -> str:
    code = int(number[1], 16) if number[1] else int(number[2])
    return chr(code) if 0 < code <= _MOST else number[0]


# Codes of terminals within words: colours, titles of windows, letters that were struck twice.
_CODES = re.compile(r"\x1b(?:\[[0-9;:?]{0,40}[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\))|[^\n\x1b\b]\x08")


def without_codes(pieces: Iterable[str]) -> Iterator[str]:
    """Yield text in pieces without such codes."""
    for piece in _uncut(pieces, "\x1b", _CODES):
        yield _CODES.sub("", piece) if "\x1b" in piece or "\b" in piece else piece


# The registry sends unknown subtypes of text here too (RFC 2046, 4.1.4).
_TEXT = ("plain", "markdown", "css", "javascript", "troff", "x-script", "x-log", "x-python", "x-c")
_APPLICATION = ("application/json", "application/x-ndjson", "application/javascript", "application/sql")


class TextHandler(LeafHandler):
    """Unchanged text of any size, read in pieces up to the limit of characters. After JSON, the decoded letters that
    are escaped in it."""

    name = "text"
    media_types: tuple[str, ...] = (*(f"text/{name}" for name in _TEXT), *_APPLICATION)
    whole = False
    declared = Declared(
        title="Plain text, source code, logs, JSON",
        extensions=("txt", "log", "md", "json", "ndjson", "js", "css", "sql", "py", "c", "sh", "ini"),
        text="unchanged but for codes of terminals, in any character set: from its byte-order mark, as UTF-8, else "
        "detected; after JSON, each string with an escaped letter or white space, decoded, once",
        metadata=CHARSET_KEYS,
        leaves_out=(
            "bytes that fit no charset, which become U+FFFD",
            "escapes in formats other than JSON, which are not decoded",
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text; `charset` as metadata. Bytes that fit no charset become U+FFFD."""
        out = decoded_text(source, limits, form=without_codes)
        if out.state is not TextState.TRUNCATED_BY_LIMIT and _JSON.match(out.text) and "\\" in out.text:
            collector = clean.Collector(limits.text_characters)
            collector.add(out.text)
            all(collector.add(f"\n{string}") for string in decoded_strings(out.text))
            both = collector.result()
            out.text, out.state = both.text, both.state or out.state
        out.error = out.error or unread_in(out.text)
        return out


def decoded_text(
    source: Source, limits: Limits, declared: str = "", form: Callable[[Iterator[str]], Iterator[str]] = iter
) -> Text:
    """Return a text with its pieces transformed by `form`, up to the limit; its charset as metadata."""
    decoder = Decoder(source.head, declared)
    collector = clean.Collector(limits.text_characters)
    with source.open() as stream:
        for piece in form(decoder.chunks(stream)):
            if not collector.add(piece):
                break
    return collector.result(detected=decoder.detected)


class XmlHandler(LeafHandler):
    """XML without its tags; unchanged if it is not well-formed, defines entities or is large."""

    name = "xml"
    media_types: tuple[str, ...] = (
        *("application/xml", "text/xml", "image/svg+xml", "application/rss+xml", "application/atom+xml"),
        *("application/rdf+xml", "application/xslt+xml"),
    )
    whole = False
    declared = Declared(
        title="XML and SVG",
        extensions=("xml", "svg", "rss", "atom", "rdf", "xsl"),
        text="the character data of all elements, then sentences in attributes of otherwise empty elements; all "
        "attributes if the file has no character data, as in text messages saved by a phone; if the file is "
        "not well-formed, defines entities or has more than 16 MB, the file itself with character references "
        "(`&#252;`) decoded",
        metadata=(*CHARSET_KEYS, "well_formed"),
        children="for web archives in XML, the page and its resources; files in `data:` URIs of SVG",
        leaves_out=(
            "other attributes, all of SVG's; comments and processing instructions",
            "data (bytes) in property lists",
            "entities and everything outside the file",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield resources of a web archive, files in the `data:` URIs of a drawing; other XML has no children."""
        listed, drawn = b"<plist" in source.head, b"<svg" in source.head
        if (listed or drawn) and source.size <= min(limits.parse_bytes, _XML_TREE_BYTES):
            from readers.text import html, web_archive, xml_tree

            data = source.whole(limits.parse_bytes)
            yield from web_archive.children(xml_tree.web_resources(data)) if listed else ()
            yield from html.carried(decode(data)[0]) if drawn and html.may_hold(data) else ()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return character data of all elements, and attributes if they are used instead; `charset`, and `well_formed`
        false if tags were kept for that reason."""
        declared = by_declaration(source.head)
        if source.size > min(limits.parse_bytes, _XML_TREE_BYTES):
            return decoded_text(source, limits, declared, with_letters)
        text, detected = decode(source.whole(limits.parse_bytes), declared)
        pieces = _character_data(text)
        collector = clean.Collector(limits.text_characters)
        collector.add("".join(with_letters((text,))) if pieces is None else "\n".join(pieces))
        out = collector.result(detected=detected)
        if pieces is None:
            out.metadata["well_formed"] = False
            if _breaks_off(text):
                out.error = truncated("the XML ends before its root element does")
        return out


_ROOT = re.compile(r"<([^\s<>!?/]{1,200})[\s>]")
_XML_TREE_BYTES = 16_000_000  # lxml's tree takes some ten times the bytes of the document


def _breaks_off(text: str) -> bool:
    """Return whether the root element of a document that is not well-formed has no end."""
    root = _ROOT.search(text)
    ended = root is None or text.rstrip().endswith("/>") or f"</{root[1]}" in text[root.end() :]
    return not ended or text.endswith("\ufffd")


def _character_data(text: str) -> list[str] | None:
    """Return non-blank character data in order; None if the document is not well-formed. Nothing outside the document
    is fetched and no entity of its own is replaced, so a small document stays small. The parser is set to UTF-8,
    because it would otherwise follow the document's declaration."""
    from lxml import etree  # imported here, because plain text, the most frequent type, does not need it

    from readers.text.xml_tree import PLAIN, character_data

    parser = etree.XMLParser(encoding="utf-8", **PLAIN)
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or next(root.iter(etree.Entity), None) is not None:
        return None
    return character_data(root, text)


TEXT = TextHandler()
