"""Captions of a picture: IPTC (IIM 4.2), XMP (ISO 16684-1), text chunks of PNG, comments of JPEG.

They are read from the segments, chunks or tags before the picture, as Exif is (`readers.images.exif`). Damage is no
error here: what can be read counts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from isal import isal_zlib

from readers import clean, xmp
from readers.charset import decode
from readers.images.exif import chunks, segments
from readers.inflate import ISAL_ERROR

_MOST = 1 << 20  # bytes of one block, and of all PNG text
_MAX_TAGS = 512
_XMP, _PHOTOSHOP = b"http://ns.adobe.com/xap/1.0/\0", b"Photoshop 3.0\0"
_PNG_XMP = "XML:com.adobe.xmp"
_NO_CAPTION = ("raw profile type", "software", "creation time", "date:", _PNG_XMP.lower())  # of PNG's keywords
_IPTC = {5: "title", 25: "keywords", 80: "author", 116: "copyright", 120: "description"}
# Caption's writer, headline, credit, source, instructions, place, state, country.
_IPTC_TOO = frozenset((122, 105, 110, 115, 40, 90, 92, 95, 101))
_XMP_KEYS = {"title": "title", "description": "description", "subject": "keywords", "creator": "author", "rights": "copyright"}  # fmt: skip
_XMP_TOO = frozenset(
    (
        *("Headline", "CaptionWriter", "Credit", "Source", "Instructions", "City", "State", "Country", "Location"),
        *("ImageDescription", "UserComment", "TagsList", "hierarchicalSubject", "LastKeywordXMP", "PersonInImage"),
        *("PersonDisplayName", "Event", "AltTextAccessibility", "ExtDescrAccessibility"),
    )
)
_PNG_KEYS = {"title": "title", "author": "author", "description": "description", "copyright": "copyright"}

Captions = Iterator[tuple[str, str]]  # key of metadata ("" if none fits), its text


def read(file: BinaryIO, size: int, label: str) -> tuple[dict[str, Any], str]:
    """Return metadata, and a line for each different caption: `title`, `author` and others may repeat."""
    readers = {"jpeg": _in_jpeg, "png": _in_png, "webp": _in_webp, "tiff": _in_tiff}
    lines: dict[str, None] = {}
    by_key: dict[str, list[str]] = {}
    for key, text in readers[label](file, size) if label in readers else ():
        if (line := clean.value(text)) and line not in lines:
            lines[line] = None
            by_key.setdefault(key, []).append(line)
    by_key.pop("", None)
    kept = clean.values((key, ", ".join(found)) for key, found in by_key.items())
    return dict(kept), "".join(f"{line}\n" for line in lines)


def _read(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(min(length, _MOST))


def _in_jpeg(file: BinaryIO, size: int) -> Captions:
    photoshop: list[bytes] = []
    for marker, start, length in segments(file, size):
        if marker == 0xFE:
            yield "", decode(_read(file, start, length).rstrip(b"\0"))[0]
        elif marker in (0xE1, 0xED):
            data = _read(file, start, length)
            if data.startswith(_XMP):
                yield from _xmp(data[len(_XMP) :])
            elif data.startswith(_PHOTOSHOP):  # resources may continue in the next segment
                photoshop.append(data[len(_PHOTOSHOP) :])
    yield from _resources(b"".join(photoshop))


def _in_png(file: BinaryIO, size: int) -> Captions:
    left = _MOST
    for kind, start, length in chunks(file, size, 8, ">"):
        if kind in (b"tEXt", b"zTXt", b"iTXt"):
            keyword, text = _png_text(kind, _read(file, start, length), left)
            left -= len(text)
            if keyword == _PNG_XMP:
                yield from _xmp(text.encode())
            elif not keyword.lower().startswith(_NO_CAPTION):
                yield _PNG_KEYS.get(keyword.lower(), ""), text


def _png_text(kind: bytes, data: bytes, most: int) -> tuple[str, str]:
    """Return keyword and text of a chunk (ISO/IEC 15948, 11.3.4): Latin-1, or UTF-8 in iTXt; "" if it is damaged."""
    name, _, rest = data.partition(b"\0")
    keyword = name.decode("latin-1")
    if kind == b"tEXt":
        return keyword, rest.decode("latin-1")
    packed = kind == b"zTXt" or rest[:1] == b"\x01"
    if kind == b"iTXt":
        rest = (rest[2:].split(b"\0", 2) + [b""] * 3)[2]  # after flag, method, language and translated keyword
    else:
        rest = rest[1:]
    if packed:
        try:
            rest = isal_zlib.decompressobj().decompress(rest, max(1, most))
        except ISAL_ERROR:
            return keyword, ""
    return keyword, rest.decode("utf-8" if kind == b"iTXt" else "latin-1", "replace")


def _in_webp(file: BinaryIO, size: int) -> Captions:
    for kind, start, length in chunks(file, size, 12, "<"):
        if kind == b"XMP ":
            yield from _xmp(_read(file, start, length))


def _in_tiff(file: BinaryIO, size: int) -> Captions:
    """Read tags of the first directory (TIFF 6.0): XMP (700), IPTC (33723), Photoshop's resources (34377)."""
    head = _read(file, 0, 8)
    order = "<" if head.startswith(b"II") else ">"
    if len(head) < 8 or struct.unpack_from(order + "H", head, 2)[0] != 42:
        return
    at = struct.unpack_from(order + "I", head, 4)[0]
    count = int.from_bytes(_read(file, min(at, size), 2), "little" if order == "<" else "big")
    entries = _read(file, min(at + 2, size), 12 * min(count, _MAX_TAGS))
    readers = {700: _xmp, 33723: _iptc, 34377: _resources}
    for place in range(0, len(entries) - 11, 12):
        tag, kind, number, where = struct.unpack_from(order + "HHII", entries, place)
        if tag in readers:  # bytes; some programs write IPTC as longs
            yield from readers[tag](_read(file, min(where, size), number * (4 if kind in (4, 9) else 1)))


def _resources(data: bytes) -> Captions:
    """Read Photoshop's image resources: 8BIM, number, padded name, length, padded data. IPTC has the number 0x0404."""
    at = 0
    while data.startswith(b"8BIM", at) and at + 12 <= len(data):
        number = int.from_bytes(data[at + 4 : at + 6], "big")
        name = 1 + data[at + 6]
        start = at + 6 + name + (name & 1)
        length = int.from_bytes(data[start : start + 4], "big")
        if number == 0x0404:
            yield from _iptc(data[start + 4 : start + 4 + length])
        at = start + 4 + length + (length & 1)


def _iptc(data: bytes) -> Captions:
    """Read data sets: 0x1C, record, number, length. 1:90 declares UTF-8; otherwise no charset is declared."""
    at, utf8 = 0, False
    while at + 5 <= len(data) and data[at] == 0x1C:
        record, number, length = data[at + 1], data[at + 2], int.from_bytes(data[at + 3 : at + 5], "big")
        if length & 0x8000:  # longer than any caption
            return
        value = data[at + 5 : at + 5 + length]
        if (record, number) == (1, 90):
            utf8 = value == b"\x1b%G"
        elif record == 2 and (number in _IPTC or number in _IPTC_TOO):
            yield _IPTC.get(number, ""), decode(value.rstrip(b"\0"), "utf-8" if utf8 else "")[0]
        at += 5 + length


def _xmp(packet: bytes) -> Captions:
    """Yield the values of the properties that are captions."""
    for name, values in xmp.properties(packet, _XMP_TOO | _XMP_KEYS.keys()):
        for value in values:
            yield _XMP_KEYS.get(name, ""), value
