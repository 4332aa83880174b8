"""XMP packets (ISO 16684-1): what is said of a picture or document in RDF."""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from formats.office.ooxml.xml import local


def properties(packet: bytes) -> Iterator[tuple[str, list[str]]]:
    """Local names of all properties, outer ones first, and the text in each, be they attributes, elements or items of
    lists; nothing where this is no XML."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)
    try:
        root = etree.fromstring(packet.strip(b"\0 \r\n\t"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return
    for element in root.iter("*") if root is not None else ():
        for name, value in element.attrib.items():
            yield str(name).rpartition("}")[2], [str(value)]
        yield local(element), [piece for piece in element.itertext() if isinstance(piece, str)]
