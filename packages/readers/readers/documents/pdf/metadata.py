"""Metadata in a PDF's XMP packet (ISO 32000-1, 14.3.2): many files of PDF/A or of Word's successors have it there
only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from isal import isal_zlib

from readers import clean, xmp
from readers.errors import DocumentError, ExceptionCode
from readers.inflate import ISAL_ERROR

KEYS = {"title": "title", "creator": "author", "description": "doc_subject", "subject": "keywords"}
_LISTS = ("creator", "subject")  # the others are the same in several languages, the default one first
_METADATA = b"/Metadata"
_TYPE = re.compile(rb"/Type\s{0,8}/Metadata(?![A-Za-z])")
_OBJECT = re.compile(rb"(\d{1,10})\s{1,8}\d{1,5}\s{1,8}obj\s*\Z")
_NAMED = re.compile(rb"/Metadata\s{1,8}(\d{1,10})\s")
_AROUND, _MANY = 500, 1_000  # bytes of a packet's dictionary to either side; packets that are looked at
_CATALOG, _OPTIONS = b"/Catalog", 4_000  # bytes of the catalogue to either side
_BEGIN, _END = b"stream", b"endstream"
_MOST = 1 << 20  # bytes of a packet


def read(data: bytes) -> tuple[dict[str, str], DocumentError | None]:
    """As `described`; with an error where that takes more memory than there is. The text is not affected."""
    try:
        return described(data), None
    except MemoryError:
        return {}, DocumentError(ExceptionCode.MEMORY, "its XMP packet needs more memory than there is")


def described(data: bytes) -> dict[str, str]:
    """Title, author, subject and keywords by the keys of metadata, as far as they are there. An encrypted packet gives
    nothing, nor do several packets when the catalogue does not show which is the document's."""
    if _METADATA not in data:  # much faster to check than by an expression
        return {}
    packets = dict(_packets(data))  # the last of each number: a later one replaces it
    chosen = _named(data) & packets.keys() or packets.keys()
    if len(chosen) != 1:
        return {}
    said: dict[str, str] = {}
    for name, values in xmp.properties(packets[next(iter(chosen))].packet(data), KEYS):
        if KEYS[name] not in said and (texts := list(filter(None, map(clean.value, values)))):
            said[KEYS[name]] = ", ".join(texts) if name in _LISTS else texts[0]
    return said


class _Place(NamedTuple):
    """Where a packet begins, and whether it is packed: of many that say they are one only the document's is unpacked."""

    start: int
    packed: bool

    def packet(self, data: bytes) -> bytes:
        """Its bytes, unpacked."""
        end = data.find(_END, self.start, self.start + _MOST)
        packet = data[self.start : end if end >= 0 else self.start + _MOST].lstrip(b"\r\n")
        return _inflated(packet) if self.packed else packet


def _packets(data: bytes) -> Iterator[tuple[int, _Place]]:
    """Number and place of each stream that is labelled as a packet."""
    for found in islice(_TYPE.finditer(data), _MANY):
        at = data.rfind(b"<<", max(0, found.start() - _AROUND), found.start())
        begin = data.find(_BEGIN, found.end(), found.end() + _AROUND)
        head = _OBJECT.search(data, max(0, at - _AROUND), max(0, at))
        if begin >= 0 and head is not None:
            yield int(head[1]), _Place(begin + len(_BEGIN), b"/Filter" in data[at:begin])


def _named(data: bytes) -> set[int]:
    """What the last catalogue that is not packed calls the document's."""
    at = data.rfind(_CATALOG)
    start, end = data.rfind(b" obj", max(0, at - _OPTIONS), max(0, at)), data.find(b"endobj", at, at + _OPTIONS)
    return {int(number) for number in _NAMED.findall(data, start, end)} if 0 <= start < end else set()


def _inflated(packet: bytes) -> bytes:
    """b"" where it is packed in another way than deflated."""
    try:
        return bytes(isal_zlib.decompressobj().decompress(packet, _MOST))
    except ISAL_ERROR:
        return b""
