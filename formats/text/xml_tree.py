"""What a tree of XML says, once it is parsed: character data, attributes that stand for it, resources of web archives."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import cast

from lxml import etree

from formats.text.web_archive import RESOURCE_DATA, RESOURCE_TYPE, RESOURCE_URL, Resource

Element = etree._Element
_OF_SCHEMA = "namespace-uri() != 'http://www.w3.org/2001/XMLSchema-instance'"
# By libxml2 itself: a loop over the elements of a large file takes as long as parsing it does.
_OF_EMPTY = etree.XPath(f"//*[not(node())]/@*[{_OF_SCHEMA}]", smart_strings=False)
_ALL = etree.XPath(f"//@*[{_OF_SCHEMA}]", smart_strings=False)
_SENTENCE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]{2}|(?![\x00-\x7f])[^\W\d_]")
_LONGEST_WORD = 1_000  # characters; what is longer is packed data
_DATA, _SVG = "data", "{http://www.w3.org/2000/svg}svg"


def said(root: Element) -> list[str]:
    """Non-blank character data in order, then sentences in attributes of elements that hold nothing else: a text message, say.
    Where there is no character data at all, every attribute's value: the file keeps there what it has. Of pictures (SVG) none;
    of property lists no data (bytes)."""
    if root.tag == "plist":
        for element in root.iter(_DATA):
            element.text = None
    pieces = [text for piece in root.itertext() if (text := str(piece).strip())]
    if root.tag in ("svg", _SVG):
        return pieces
    attributes = cast("list[str]", (_OF_EMPTY if pieces else _ALL)(root))
    values = (" ".join(value.split()) for value in attributes)
    return pieces + [value for value in values if (_is_sentence if pieces else _is_told)(value)]


def _is_told(value: str) -> bool:
    return bool(value) and (" " in value or len(value) <= _LONGEST_WORD)


def _is_sentence(value: str) -> bool:
    """Two words side by side, or a letter beyond ASCII, which no name or number of a program has."""
    return _is_told(value) and _SENTENCE.search(value) is not None


def web_resources(data: bytes) -> Iterator[Resource]:
    """What a web archive in XML holds. None of one that is not well-formed: `text` says that."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
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
