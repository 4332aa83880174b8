"""Metadata in a PDF's XMP packet (ISO 32000-1, 14.3.2): many files in PDF/A or of Word's successors have it only
there."""

from __future__ import annotations

import codecs
import ctypes
import functools
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from isal import isal_zlib
from lxml import etree

from readers import clean, xmp
from readers.documents.pdf.packed import object_streams
from readers.documents.pdf.pages import read_text
from readers.errors import DocumentError, ExceptionCode, corrupt, too_large
from readers.inflate import ISAL_ERROR
from readers.office.ooxml.xml import local
from readers.text.xml_tree import PLAIN, flowing

KEYS = {"title": "title", "creator": "author", "description": "doc_subject", "subject": "keywords"}
_LISTS = ("creator", "subject")  # the others repeat the value in several languages, the default one first
_METADATA = b"/Metadata"
_TYPE = re.compile(rb"/Type\s{0,8}/Metadata(?![A-Za-z])")
_OBJECT = re.compile(rb"(\d{1,10})\s{1,8}\d{1,5}\s{1,8}obj\s*\Z")
_NAMED = re.compile(rb"/Metadata\s{1,8}(\d{1,10})\s")
_AROUND, _MANY = 500, 1_000  # bytes of a packet's dictionary to either side; packets that are examined
_CATALOG, _OPTIONS = b"/Catalog", 4_000  # bytes of the catalogue to either side
_BEGIN, _END = b"stream", b"endstream"
_MOST_PACKET = 1 << 20  # bytes of a packet


def read(data: bytes) -> tuple[dict[str, str], DocumentError | None]:
    """Return what `described` does, or an error if memory is exhausted. The text is not affected."""
    try:
        return described(data), None
    except MemoryError:
        return {}, DocumentError(ExceptionCode.MEMORY, "its XMP packet needs more memory than is available")


def described(data: bytes) -> dict[str, str]:
    """Return title, author, subject and keywords by their metadata keys, as far as they are in a packet. Nothing for an
    encrypted packet, or for several packets if the catalogue does not show which is the document's."""
    if _METADATA not in data:  # much faster to check than by an expression
        return {}
    packets = dict(_packets(data))  # the last of each number: a later one replaces it
    chosen = _named(data) & packets.keys() or packets.keys()
    if len(chosen) != 1:
        return {}
    found: dict[str, str] = {}
    for name, values in xmp.properties(packets[next(iter(chosen))].packet(data), KEYS):
        if KEYS[name] not in found and (texts := list(filter(None, map(clean.value, values)))):
            found[KEYS[name]] = ", ".join(texts) if name in _LISTS else texts[0]
    return found


class _Place(NamedTuple):
    """Position of a packet, and whether it is packed: only the document's packet is unpacked."""

    start: int
    packed: bool

    def packet(self, data: bytes) -> bytes:
        """Return the packet's bytes, unpacked."""
        end = data.find(_END, self.start, self.start + _MOST_PACKET)
        packet = data[self.start : end if end >= 0 else self.start + _MOST_PACKET].lstrip(b"\r\n")
        return _inflated(packet) if self.packed else packet


def _packets(data: bytes) -> Iterator[tuple[int, _Place]]:
    """Yield number and position of each stream that is labelled as a packet."""
    for found in islice(_TYPE.finditer(data), _MANY):
        at = data.rfind(b"<<", max(0, found.start() - _AROUND), found.start())
        begin = data.find(_BEGIN, found.end(), found.end() + _AROUND)
        head = _OBJECT.search(data, max(0, at - _AROUND), max(0, at))
        if begin >= 0 and head is not None:
            yield int(head[1]), _Place(begin + len(_BEGIN), b"/Filter" in data[at:begin])


def _named(data: bytes) -> set[int]:
    """Return the numbers that the last unpacked catalogue gives for the document's packet."""
    at = data.rfind(_CATALOG)
    start, end = data.rfind(b" obj", max(0, at - _OPTIONS), max(0, at)), data.find(b"endobj", at, at + _OPTIONS)
    return {int(number) for number in _NAMED.findall(data, start, end)} if 0 <= start < end else set()


def _inflated(packet: bytes) -> bytes:
    """Inflate a packet; b"" if it is packed in another way."""
    try:
        return bytes(isal_zlib.decompressobj().decompress(packet, _MOST_PACKET))
    except ISAL_ERROR:
        return b""


# Entries of the signatures of a PDF (ISO 32000-1, 12.8.1, table 252): who signed, where, why, and how to reach them.

_MOST_SIGNATURES, _MOST_VALUES = 1_000, 10_000
_DICTIONARY = 10_000  # bytes in front of the signature, and behind it, in which its dictionary begins and ends
# A string (7.3.4): parentheses in it are balanced or escaped. The last one may be cut.
_STRING = rb"\s*(?:\(((?:[^()\\]|\\(?:.|\Z)|\((?:[^()\\]|\\.|\([^()\\]*+\)|(?!))*+\)|(?!))*+)(?:\)|\Z)|<([0-9A-Fa-f\s]*+)(?:>|\Z))"
_KEY, _VALUE = (re.compile(b"/(?:%b)" % names + _STRING, re.DOTALL) for names in (b"Name|Location|ContactInfo", b"V"))
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|\r\n|[\x00-\xff])")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"\n": b"", b"\r": b"", b"\r\n": b""}


def signature_texts(document: pdfium.PdfDocument, data: bytes) -> Iterator[str]:
    """Yield each signature's texts; only reasons if encrypted, as PDFium does not decrypt the others."""
    encrypted = raw.FPDF_GetSecurityHandlerRevision(document.raw) >= 0
    for index in range(min(raw.FPDF_GetSignatureCount(document.raw), _MOST_SIGNATURES)):
        signature = raw.FPDF_GetSignatureObject(document.raw, index)
        if reason := read_text(functools.partial(raw.FPDFSignatureObj_GetReason, signature)).strip():
            yield reason
        if not encrypted:
            yield from filter(None, _texts(_dictionary(signature, data)))


def field_values(document: pdfium.PdfDocument, data: bytes, shown: Callable[[], str]) -> Iterator[str]:
    """Yield values of form fields that the text does not show: of fields on no page, and earlier ones. None of an
    encrypted document."""
    if (
        raw.FPDF_GetFormType(document.raw) == raw.FORMTYPE_NONE
        or raw.FPDF_GetSecurityHandlerRevision(document.raw) >= 0
    ):
        return
    words = set(shown().split())
    packed = filter(None, object_streams(data))
    values = dict.fromkeys(value for objects in (data, *packed) for value in _texts(objects, _VALUE))
    yield from (value for value in islice(values, _MOST_VALUES) if not words.issuperset(value.split()))


def _dictionary(signature: raw.FPDF_SIGNATURE, data: bytes) -> bytes:
    """Return the bytes around the signature's bytes in its object; b"" if its byte range is invalid."""
    places = (ctypes.c_int * 4)()
    if raw.FPDFSignatureObj_GetByteRange(signature, places, 4) != 4:
        return b""
    before, behind = places[1], places[2]
    if not 0 < before < behind < len(data):
        return b""
    start = data.rfind(b"obj", max(0, before - _DICTIONARY), before)
    end = data.find(b"endobj", behind, behind + _DICTIONARY)
    return data[start:before] + data[behind:end] if start >= 0 and end >= 0 else b""


def _texts(dictionary: bytes, keys: re.Pattern[bytes] = _KEY) -> Iterator[str]:
    for found in keys.finditer(dictionary):
        if found[2] is not None:
            digits = b"".join(found[2].split())
            yield _decoded(bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii")))
        else:
            yield _decoded(_ESCAPED.sub(_character, found[1]))


def _character(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    return bytes((int(code, 8) & 0xFF,)) if code[:1].isdigit() and code < b"8" else _ESCAPES.get(code, code)


def _decoded(text: bytes) -> str:
    """Decode a string (7.9.2.2): UTF-16 or UTF-8 with a mark, else PDFDocEncoding, close to Latin-1."""
    if text.startswith(codecs.BOM_UTF16_BE):
        return text[2:].decode("utf-16-be", "replace").strip()
    if text.startswith(codecs.BOM_UTF8):
        return text[3:].decode("utf-8", "replace").strip()
    return text.decode("cp1252", "replace").strip()


# Values of XFA forms (XML Forms Architecture 3.3, part 1, chapter 4; ISO 32000-1, 12.7.8): what was filled in is
# stored in the packet `datasets`, apart from the pages.

_MAX_PACKETS = 100
_MAX_BYTES = 16_000_000
_WANTED = ("datasets", "")  # the packet alone, or all packets in one stream, which has no name


class Values:
    """Values of an XFA form in document order, without empty ones; none if there is no such form. `error` reports
    afterwards which are missing."""

    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document
        self.error: DocumentError | None = None

    def __iter__(self) -> Iterator[str]:
        count = raw.FPDF_GetXFAPacketCount(self._document)
        if count > _MAX_PACKETS:
            self.error = too_large(f"an XFA form of more than {_MAX_PACKETS} packets")
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
    """Return a packet; b"" for one without bytes. Raises DocumentError."""
    length = ctypes.c_ulong()
    if not raw.FPDF_GetXFAPacketContent(document, index, None, 0, length):
        raise corrupt("the values of its XFA form are not accessible")
    if length.value > _MAX_BYTES:
        raise too_large(f"the values of its XFA form have {length.value:,} bytes")
    buffer = ctypes.create_string_buffer(max(1, length.value))
    if length.value and not raw.FPDF_GetXFAPacketContent(document, index, buffer, length.value, length):
        raise corrupt("the values of its XFA form are not accessible")
    return buffer.raw[: length.value]


def _values(packet: bytes) -> Iterator[str]:
    """Yield the text below xfa:data. Replaces no entity, fetches nothing. Raises DocumentError if it is not XML."""
    if b"data" not in packet:  # the end of a form that comes in pieces, say
        return
    try:
        root = etree.fromstring(packet, etree.XMLParser(recover=True, **PLAIN))
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None:
        raise corrupt("the values of its XFA form are not XML")
    for data in root.iter("{*}data"):
        if local(data.getparent()) in ("datasets", ""):
            yield from flowing(data)  # values may be formatted, in XHTML
