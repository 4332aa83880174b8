"""Values of XFA forms (XML Forms Architecture 3.3, part 1, chapter 4; ISO 32000-1, 12.7.8): what was filled in is
stored in the packet `datasets`, apart from the pages."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from lxml import etree

from readers.errors import DocumentError, ExceptionCode
from readers.office.ooxml.xml import local

_MAX_PACKETS = 100
_MAX_BYTES = 16_000_000
_WANTED = ("datasets", "")  # the packet by itself, or all packets in one stream, which has no name


class Values:
    """The values in document order, empty ones left out; none where there is no such form. `error` reports afterwards
    which are missing."""

    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document
        self.error: DocumentError | None = None

    def __iter__(self) -> Iterator[str]:
        count = raw.FPDF_GetXFAPacketCount(self._document)
        if count > _MAX_PACKETS:
            self.error = DocumentError(ExceptionCode.TOO_LARGE, f"an XFA form of more than {_MAX_PACKETS} packets")
        for index in range(min(count, _MAX_PACKETS)):
            if _name(self._document, index) not in _WANTED:
                continue
            try:
                yield from _values(_content(self._document, index))
            except DocumentError as error:
                self.error = self.error or error


def _name(document: pdfium.PdfDocument, index: int) -> str:
    length = raw.FPDF_GetXFAPacketName(document, index, None, 0)
    if not 0 < length < 1000:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDF_GetXFAPacketName(document, index, buffer, length)
    return buffer.value.decode("utf-8", "replace")


def _content(document: pdfium.PdfDocument, index: int) -> bytes:
    """A packet; b"" of one without bytes. DocumentError."""
    length = ctypes.c_ulong()
    if not raw.FPDF_GetXFAPacketContent(document, index, None, 0, length):
        raise DocumentError(ExceptionCode.CORRUPT, "the values of its XFA form are not accessible")
    if length.value > _MAX_BYTES:
        raise DocumentError(ExceptionCode.TOO_LARGE, f"the values of its XFA form have {length.value:,} bytes")
    buffer = ctypes.create_string_buffer(max(1, length.value))
    if length.value and not raw.FPDF_GetXFAPacketContent(document, index, buffer, length.value, length):
        raise DocumentError(ExceptionCode.CORRUPT, "the values of its XFA form are not accessible")
    return buffer.raw[: length.value]


def _values(packet: bytes) -> Iterator[str]:
    """Text below xfa:data. No entity is replaced and nothing is fetched. DocumentError where it is no XML at all."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True, remove_comments=True
    )
    if b"data" not in packet:  # the end of a form that comes in pieces, say
        return
    try:
        root = etree.fromstring(packet, parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        raise DocumentError(ExceptionCode.CORRUPT, "the values of its XFA form are no XML")
    for data in root.iter("{*}data"):
        if local(data.getparent()) in ("datasets", ""):
            for text in data.itertext():
                if isinstance(text, str) and (stripped := text.strip()):
                    yield stripped
