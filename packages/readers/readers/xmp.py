"""XMP packets (ISO 16684-1): metadata of a picture or document in RDF."""

from __future__ import annotations

from collections.abc import Container

from lxml import etree

from readers.office.ooxml.xml import local
from readers.text.xml_tree import SAFE

_MOST_AROUND = 8  # wanted elements around a text, each of which keeps the text; real packets do not nest them


def properties(packet: bytes, wanted: Container[str]) -> list[tuple[str, list[str]]]:
    """Return the local names of the wanted properties, outer ones first, and the text in each, in attributes, elements
    or items of lists; nothing if this is not XML. Time and memory are proportional to the bytes, regardless of the
    depth of nesting."""
    try:
        root = etree.fromstring(packet.strip(b"\0 \r\n\t"), etree.XMLParser(recover=True, **SAFE))
    except (etree.XMLSyntaxError, ValueError):
        return []
    return [] if root is None else _values(root, wanted)


def _values(root: etree._Element, wanted: Container[str]) -> list[tuple[str, list[str]]]:
    out: list[tuple[str, list[str]]] = []
    around: list[tuple[etree._Element, list[str]]] = []
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            for name, value in element.attrib.items():
                if (key := str(name).rpartition("}")[2]) in wanted:
                    out.append((key, [str(value)]))
            if (name := local(element)) in wanted and len(around) < _MOST_AROUND:
                around.append((element, []))
                out.append((name, around[-1][1]))
            _add(around, element.text)
            continue
        if around and around[-1][0] is element:
            around.pop()
        _add(around, element.tail)
    return out


def _add(around: list[tuple[etree._Element, list[str]]], text: str | None) -> None:
    for _, pieces in around:
        if text:
            pieces.append(text)
