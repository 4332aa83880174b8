"""Exif metadata (CIPA DC-008): camera, dates, place, found where JPEG, TIFF, PNG, WebP, HEIC and AVIF keep it.

An Exif block is a TIFF file of its own; only the first directory and the two it points at are read, each value bounded.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from formats import clean
from formats.images import heif

_MAX_TAGS = 512
_MAX_VALUE = 4096
_MAX_SEGMENTS = 64
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 9: 4, 10: 8, 13: 4}
_EXIF, _GPS = 0x8769, 0x8825
_TEXTS = {0x010E: "description", 0x010F: "make", 0x0110: "model", 0x0131: "application", 0x013B: "author", 0x8298: "copyright"}  # fmt: skip
_DATES = ((0x9003, "taken"), (0x9004, "digitised"), (0x0132, "modified"))
_ZONES = {"taken": 0x9011, "digitised": 0x9012, "modified": 0x9010}
_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?")
_ZONE = re.compile(r"[+-]\d\d:\d\d")

Tags = dict[int, tuple[int, bytes]]  # tag → type, raw value


def find_block(file: BinaryIO, size: int, label: str) -> tuple[int, int] | None:
    """Where the Exif block lies in the picture (start, length); None when there is none."""
    finders = {"jpeg": _in_jpeg, "png": _in_png, "webp": _in_webp, "heic": heif.exif_place, "avif": heif.exif_place}
    if label == "tiff":
        return 0, size
    return finders[label](file, size) if label in finders else None


def segments(file: BinaryIO, size: int) -> Iterator[tuple[int, int, int]]:
    """(marker, start, length) of a JPEG's segments in front of the picture, without their heads."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        file.seek(at)
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (0xDA, 0xD9):
            return
        length = struct.unpack_from(">H", head, 2)[0]
        yield head[1], at + 4, max(0, min(length - 2, size - at - 4))
        at += 2 + length


def _in_jpeg(file: BinaryIO, size: int) -> tuple[int, int] | None:
    for marker, start, length in segments(file, size):
        if marker == 0xE1:
            file.seek(start)
            if file.read(6) == b"Exif\0\0":
                return start + 6, max(0, length - 6)
    return None


def chunks(file: BinaryIO, size: int, at: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """(kind, start, length) of chunks: PNG's have length, kind, bytes, checksum; RIFF's kind, length, bytes."""
    for _ in range(_MAX_SEGMENTS):
        if at + 8 > size:
            return
        file.seek(at)
        head = file.read(8)
        if order == ">":
            length, kind = struct.unpack(">I4s", head)
            following = at + 12 + length
        else:
            kind, length = struct.unpack("<4sI", head)
            following = at + 8 + length + (length & 1)
        yield kind, at + 8, min(length, size - at - 8)
        at = following


def _in_png(file: BinaryIO, size: int) -> tuple[int, int] | None:
    return next(((start, length) for kind, start, length in chunks(file, size, 8, ">") if kind == b"eXIf"), None)


def _in_webp(file: BinaryIO, size: int) -> tuple[int, int] | None:
    for kind, start, length in chunks(file, size, 12, "<"):
        if kind == b"EXIF":
            file.seek(start)
            skip = 6 if file.read(6) == b"Exif\0\0" else 0
            return start + skip, length - skip
    return None


def metadata(file: BinaryIO, size: int, label: str) -> dict[str, Any]:
    """`make`, `model`, `author`, `taken`, `latitude` … of a picture; {} when it says nothing. Damage is no error here: what
    can be read counts. Dates are ISO 8601, with an offset where the camera noted one."""
    place = find_block(file, size, label)
    if place is None or place[1] < 8:
        return {}
    start, length = place
    file.seek(start)
    head = file.read(8)
    order = {b"II": "<", b"MM": ">"}.get(head[:2])
    if order is None or struct.unpack_from(order + "H", head, 2)[0] != 42:
        return {}
    block = _Block(file, start, length, order)
    tags = block.directory(struct.unpack_from(order + "I", head, 4)[0])
    for pointer in (_EXIF, _GPS):
        at = block.number(tags, pointer)
        inner = block.directory(at) if at else {}
        if pointer == _EXIF:
            tags = {**inner, **tags}
        else:
            gps = inner
    return {**_texts(tags, block), **_place(gps, block)}


def _texts(tags: Tags, block: _Block) -> dict[str, Any]:
    out: dict[str, Any] = dict(clean.values((key, block.text(tags, tag)) for tag, key in _TEXTS.items()))
    for tag, key in _DATES:
        if date := _iso(block.text(tags, tag), block.text(tags, _ZONES[key])):
            out[key] = date
    return out


def _place(gps: Tags, block: _Block) -> dict[str, float]:
    """Latitude and longitude in degrees, north and east positive; nothing unless both are there and possible."""
    latitude = block.degrees(gps, 2, 1, b"S")
    longitude = block.degrees(gps, 4, 3, b"W")
    if latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return {}
    return {"latitude": latitude, "longitude": longitude}


def _iso(text: str, zone: str) -> str:
    match = _DATE.match(text)
    if not match or match[1] == "0000":
        return ""
    year, month, day, hour, minute, second = match.groups()
    date = f"{year}-{month}-{day}"
    if hour is None:
        return date
    return f"{date}T{hour}:{minute}:{second or '00'}{zone if _ZONE.fullmatch(zone) else ''}"


class _Block:
    """Directories of tags at offsets from the block's start."""

    def __init__(self, file: BinaryIO, start: int, length: int, order: str) -> None:
        self._file, self._start, self._length, self._order = file, start, length, order

    def _read(self, at: int, count: int) -> bytes:
        if at + count > self._length:
            return b""
        self._file.seek(self._start + at)
        return self._file.read(count)

    def directory(self, at: int) -> Tags:
        """The tags of the directory at `at`; those whose value is not in the block are left out."""
        raw = self._read(at, 2)
        count = struct.unpack(self._order + "H", raw)[0] if len(raw) == 2 else 0
        entries = self._read(at + 2, 12 * min(count, _MAX_TAGS))
        out: Tags = {}
        for i in range(0, len(entries) - 11, 12):
            tag, kind, number = struct.unpack_from(self._order + "HHI", entries, i)
            length = _WIDTHS.get(kind, 0) * number
            if not 0 < length <= _MAX_VALUE:
                continue
            if length <= 4:
                value = entries[i + 8 : i + 8 + length]
            else:
                value = self._read(struct.unpack_from(self._order + "I", entries, i + 8)[0], length)
            if len(value) == length:
                out.setdefault(tag, (kind, value))
        return out

    def number(self, tags: Tags, tag: int) -> int:
        """A whole number; 0 when there is none."""
        kind, value = tags.get(tag, (0, b""))
        if kind == 3:
            return int(struct.unpack_from(self._order + "H", value)[0])
        return int(struct.unpack_from(self._order + "I", value)[0]) if kind in (4, 13) else 0

    def text(self, tags: Tags, tag: int) -> str:
        """A string: ASCII by the standard, often UTF-8; "" when there is none."""
        kind, value = tags.get(tag, (0, b""))
        return value.split(b"\0", 1)[0].decode("utf-8", "replace").strip() if kind == 2 else ""

    def degrees(self, tags: Tags, tag: int, reference: int, negative: bytes) -> float | None:
        """Degrees, minutes and seconds as one number, to seven digits; None when they are not there."""
        kind, value = tags.get(tag, (0, b""))
        if kind != 5 or len(value) < 24:
            return None
        out = 0.0
        for i in range(3):
            upper, lower = struct.unpack_from(self._order + "II", value, 8 * i)
            out += upper / lower / 60**i if lower else 0.0
        sign = -1 if tags.get(reference, (0, b""))[1][:1] == negative else 1
        return round(sign * out, 7)
