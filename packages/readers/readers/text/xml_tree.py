"""Text of a parsed XML tree: character data, attributes used instead of it, resources of web archives."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, cast

from lxml import etree

from readers.text.web_archive import RESOURCE_DATA, RESOURCE_TYPE, RESOURCE_URL, Resource

Element = etree._Element

# Options of parsers, which replace no entity and fetch nothing outside the document; and of those that join the text
# around comments and instructions.
SAFE: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
PLAIN = SAFE | {"remove_comments": True, "remove_pis": True}
_OF_SCHEMA = "namespace-uri() != 'http://www.w3.org/2001/XMLSchema-instance'"
# By libxml2 itself: a loop over the elements of a large file takes as long as parsing it.
_OF_EMPTY = etree.XPath(f"//*[not(node())]/@*[{_OF_SCHEMA}]", smart_strings=False)
_ALL = etree.XPath(f"//@*[{_OF_SCHEMA}]", smart_strings=False)
_SENTENCE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]{2}|(?![\x00-\x7f])[^\W\d_]")
_LONGEST_WORD = 1_000  # characters; longer ones are packed data
# Elements in lines of text (XHTML, DocBook, TEI, JATS, DITA, SVG, Visio), blocks of these, and elements with one line.
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "bold", "c", "cite", "code", "cp", "del", "dfn", "em"),
        *("emphasis", "fld", "font", "g", "hi", "i", "inline", "ins", "italic", "kbd", "link", "literal", "mark"),
        *("ph", "phrase", "pp", "q", "s", "samp", "sc", "seg", "small", "span", "strike", "strikethrough", "strong"),
        *("style", "styled-content", "sub", "sup", "tp", "tspan", "tt", "u", "ulink", "underline", "var", "xref"),
    )
)
_CUT = re.compile(
    f"</(?:[A-Za-z0-9_-]+:)?(?:{'|'.join(sorted(_INLINE))})><(?:[A-Za-z0-9_-]+:)?(?:{'|'.join(sorted(_INLINE))})[\\s/>]"
)
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "br", "caption", "chapter", "dd", "div", "dl", "dt"),
        *("entry", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "item"),
        *("itemizedlist", "lb", "li", "list", "listitem", "ol", "orderedlist", "p", "para", "pb", "pre"),
        *("programlisting", "row", "section", "simpara", "subtitle", "table", "tbody", "td", "textarea", "tfoot"),
        *("th", "thead", "title", "tr", "ul"),
    )
)
_HOLD_LINES = frozenset(
    (
        *("block", "data", "desc", "div", "entry", "h", "h1", "h2", "h3", "h4", "h5", "h6", "head", "is", "item", "l"),
        *("li", "p", "para", "si", "simpara", "subtitle", "td", "term", "text", "textpath", "th", "title"),
    )
)
_CUT_WORD = re.compile(r"\w</?[a-zA-Z][^<>]*+>\w")  # in a web page that is a text
# Office's own XML, outside of its packages: everything in a paragraph is inline, but for these elements.
_OFFICE = tuple(
    "{" + space
    for space in (
        "http://schemas.openxmlformats.org/",
        "http://purl.oclc.org/ooxml/",
        "urn:oasis:names:tc:opendocument:",
    )
)
_APART = frozenset(("cr", "instrtext", "line-break", "ptab", "rph", "rt", "s", "tab"))
_PLACES = ("x", "y", "dy")  # coordinates of letters in a drawing, which move them
_DATA, _SVG = "data", "{http://www.w3.org/2000/svg}svg"


def character_data(root: Element, markup: str) -> list[str]:
    """Return non-blank character data in order, then sentences in attributes of elements that contain nothing else: a
    text message, for example. Without any character data, return every attribute's value, because the file stores its
    text there; none for pictures (SVG), and no data (bytes) for property lists."""
    if root.tag == "plist":
        for element in root.iter(_DATA):
            element.text = None
    drawing = root.tag in ("svg", _SVG)
    pieces = _apart(root)
    if pieces is None or root.tag.startswith(_OFFICE) or _CUT.search(markup):
        pieces = flowing(root)
    if drawing:
        return pieces
    if pages := [piece for piece in pieces if _CUT_WORD.search(piece)]:
        from readers.text.html import html_text  # most readers of XML need the options of parsers alone

        pieces += map(html_text, pages)
    attributes = cast("list[str]", (_OF_EMPTY if pieces else _ALL)(root))
    values = (" ".join(value.split()) for value in attributes)
    return pieces + [value for value in values if (_is_sentence if pieces else _is_text)(value)]


def _apart(root: Element) -> list[str] | None:
    """Return the text of each element; None if some have both text and elements, as a sentence with a bold word."""
    pieces: list[str] = []
    for element in root.iter():
        if (tail := element.tail) and not tail.isspace():
            return None
        if (text := element.text) and (text := text.strip()):
            if len(element):
                return None
            pieces.append(text)
    return pieces


def flowing(root: Element) -> list[str]:
    """Return character data in lines. Elements in the middle of text do not end a line, except those that begin a
    block, and unknown elements that directly follow each other: these may be fields."""
    lines: list[str] = []
    line: list[str] = []
    flows = [False]  # whether each open element contains a line of text
    parted = ended = False  # since the last text

    def text(data: str | None) -> None:
        nonlocal line, parted, ended
        if not data:
            return
        if data.isspace():
            ended = False
            line.append(data)
            return
        if parted:
            lines.append("".join(line))
            line = []
        line.append(data)
        parted = ended = False

    for event, element in etree.iterwalk(root, events=("start", "end")):
        name = str(element.tag).rpartition("}")[2].lower()
        begins = event == "start"
        if not begins:
            flows.pop()
        office = flows[-1] and element.tag.startswith(_OFFICE)
        known = office or (name in _INLINE and not (name == "tspan" and any(map(element.get, _PLACES))))
        parted = (
            parted
            or not flows[-1]
            or name in _BLOCKS
            or (begins and ended and not known)
            or (name == "tspan" and not known)
            or (office and name in _APART)
        )
        data = element.text if begins else element.tail
        if data and data.isspace() and element.tag.startswith(_OFFICE[:2]) and not (begins and name == "t"):
            data = None  # indentation
        if begins:
            flows.append(_holds_line(element) or name in _HOLD_LINES or (known and flows[-1]))
        ended = not begins
        text(data)
    return [stripped for one in (*lines, "".join(line)) if (stripped := one.strip())]


def _holds_line(element: Element) -> bool:
    if not len(element):
        return False
    return any(text and not text.isspace() for text in (element.text, *(child.tail for child in element)))


def _is_text(value: str) -> bool:
    return bool(value) and (" " in value or len(value) <= _LONGEST_WORD)


def _is_sentence(value: str) -> bool:
    """Return whether there are two words, or a letter beyond ASCII, which programs' names do not have."""
    return _is_text(value) and _SENTENCE.search(value) is not None


def web_resources(data: bytes) -> Iterator[Resource]:
    """Yield the resources of a web archive in XML. None if it is not well-formed: `text` reports that."""
    try:
        root = etree.fromstring(data, etree.XMLParser(**SAFE))
    except (etree.XMLSyntaxError, ValueError):
        return
    for one in root.iter("dict"):
        keys = {(key.text or ""): key.getnext() for key in one.iterchildren("key")}
        data_of = keys.get(RESOURCE_DATA)
        if data_of is not None and data_of.tag == _DATA:
            url, media_type = _text(keys.get(RESOURCE_URL)), _text(keys.get(RESOURCE_TYPE))
            yield Resource(url, media_type, _decoded(_text(data_of)))


def _text(element: Element | None) -> str:
    return "" if element is None else (element.text or "")


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
