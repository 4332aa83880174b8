"""Values of XFA forms (XML Forms Architecture 3.3, part 1, chapter 4; ISO 32000-1, 12.7.8): what was filled in lies in
the packet `datasets`, apart from the pages."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from lxml import etree

from formats.office.ooxml.xml import local

_MAX_PACKETS = 100
_MAX_BYTES = 16_000_000
_WANTED = ("datasets", "")  # the packet by itself, or all packets in one stream, which has no name


def values(document: pdfium.PdfDocument) -> Iterator[str]:
    """The values in document order, empty ones left out; none where there is no such form or its XML cannot be read."""
    for index in range(min(raw.FPDF_GetXFAPacketCount(document), _MAX_PACKETS)):
        if _name(document, index) in _WANTED:
            yield from _values(_content(document, index))


def _name(document: pdfium.PdfDocument, index: int) -> str:
    length = raw.FPDF_GetXFAPacketName(document, index, None, 0)
    if not 0 < length < 1000:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDF_GetXFAPacketName(document, index, buffer, length)
    return buffer.value.decode("utf-8", "replace")


def _content(document: pdfium.PdfDocument, index: int) -> bytes:
    length = ctypes.c_ulong()
    if not raw.FPDF_GetXFAPacketContent(document, index, None, 0, length) or not 0 < length.value <= _MAX_BYTES:
        return b""
    buffer = ctypes.create_string_buffer(length.value)
    if not raw.FPDF_GetXFAPacketContent(document, index, buffer, length.value, length):
        return b""
    return buffer.raw


def _values(packet: bytes) -> Iterator[str]:
    """Text below xfa:data. No entity is replaced and nothing is fetched."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True, remove_comments=True
    )
    try:
        root = etree.fromstring(packet, parser)
    except (etree.XMLSyntaxError, ValueError):
        return
    if root is None:
        return
    for data in root.iter("{*}data"):
        if local(data.getparent()) in ("datasets", ""):
            for text in data.itertext():
                if isinstance(text, str) and (stripped := text.strip()):
                    yield stripped
