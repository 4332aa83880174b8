"""Exif metadata (CIPA DC-008): camera, dates, place, from JPEG, TIFF, PNG, WebP, HEIC and AVIF.

An Exif block is a TIFF file of its own; only the first directory and the two it points at are read, each value
bounded."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from readers import clean
from readers.charset import CharsetSource, Detected, decode, least_certain
from readers.charset_guess import readable, reads
from readers.images import heif

_MAX_TAGS = 512
_MAX_VALUE = 1 << 16
_MAX_SEGMENTS = 64
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 9: 4, 10: 8, 13: 4, 129: 1}
_EXIF, _GPS = 0x8769, 0x8825
_TEXTS = {0x010E: "description", 0x010F: "make", 0x0110: "model", 0x0131: "application", 0x013B: "author", 0x8298: "copyright"}  # fmt: skip
# Tags of Windows Explorer
_WINDOWS = {0x9C9B: "title", 0x9C9C: "description", 0x9C9D: "author", 0x9C9E: "keywords", 0x9C9F: "subject"}
_TITLES = (0x010D, 0xA436)  # DocumentName of TIFF, ImageTitle of Exif 3.0
_COMMENT, _AREA = 0x9286, 0x001C  # each begins with a charset code (CIPA DC-008, 4.6.5)
_CODE = 8  # bytes of it
_STRING, _UTF8 = 2, 129  # types
# ASCII in every charset: a tilde may begin a sequence of HZ
_PRINTED = bytes(c for c in range(0x20, 0x7F) if c != 0x7E)
_JIS_ROWS = frozenset(
    (*range(0x21, 0x26), *range(0x30, 0x50))
)  # rows of JIS X 0208: signs, kana, the frequent characters
_DATES = ((0x9003, "taken"), (0x9004, "digitised"), (0x0132, "modified"))
_ZONES = {"taken": 0x9011, "digitised": 0x9012, "modified": 0x9010}
_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?(?:\.\d+)?(Z|[+-]\d\d:\d\d)?)?")
_NO_DATE = " :-0T"  # characters of an unknown date (CIPA DC-008, 4.6.5)
_LONGEST_DATE = 100  # characters
_ZONE = re.compile(r"[+-]\d\d:\d\d")

Tags = dict[int, tuple[int, bytes]]  # tag → type, raw value


def find_block(file: BinaryIO, size: int, label: str) -> tuple[int, int] | None:
    """Return the position of the Exif block in the picture (start, length); None if there is none."""
    if label == "tiff":
        return 0, size
    if label in ("heic", "avif"):
        return heif.exif_place(file, size)
    blocks: dict[str, tuple[Iterator[tuple[int | bytes, int, int]], int | bytes]] = {
        "jpeg": (segments(file, size), 0xE1),
        "png": (chunks(file, size, 8, ">"), b"eXIf"),
        "webp": (chunks(file, size, 12, "<"), b"EXIF"),
    }
    for kind, start, length in blocks[label][0] if label in blocks else ():
        if kind == blocks[label][1]:
            file.seek(start)
            named = file.read(6) == b"Exif\0\0"
            if named or label != "jpeg":  # where XMP is in such segments too
                return start + 6 * named, max(0, length - 6 * named)
    return None


def segments(file: BinaryIO, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (marker, start, length) of a JPEG's segments before the picture, without their heads."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        file.seek(at)
        head = file.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (0xDA, 0xD9):
            return
        length = struct.unpack_from(">H", head, 2)[0]
        yield head[1], at + 4, max(0, min(length - 2, size - at - 4))
        at += 2 + length


def chunks(file: BinaryIO, size: int, at: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, start, length) of chunks: PNG's have length, kind, bytes, checksum; RIFF's kind, length, bytes."""
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


class Exif(NamedTuple):
    """The contents of an Exif block; {} and () where it has none."""

    metadata: dict[str, Any]
    likely: dict[str, str]  # keys by the tags of Windows: other tags with the same key take precedence
    lines: tuple[str, ...]  # descriptions and comments
    charset: Detected | None  # charset of the least certain string, if one had to be detected


NOTHING = Exif({}, {}, (), None)


def read(file: BinaryIO, size: int, label: str) -> Exif:
    """Return `make`, `model`, `author`, `taken`, `latitude` … of a picture, and its descriptions and comments. Damage
    is no error here: what can be read counts. Dates are ISO 8601, with an offset if the camera recorded one."""
    place = find_block(file, size, label)
    if place is None or place[1] < 8:
        return NOTHING
    start, length = place
    file.seek(start)
    head = file.read(8)
    order = {b"II": "<", b"MM": ">"}.get(head[:2])
    if order is None or struct.unpack_from(order + "H", head, 2)[0] != 42:
        return NOTHING
    block = _Block(file, start, length, order)
    tags = block.directory(struct.unpack_from(order + "I", head, 4)[0])
    for pointer in (_EXIF, _GPS):
        at = block.number(tags, pointer)
        inner = block.directory(at) if at else {}
        if pointer == _EXIF:
            tags = {**inner, **tags}
        else:
            gps = inner
    about = dict(clean.values((key, block.text(tags, tag)) for tag, key in _TEXTS.items() if tag in tags))
    of_windows = [(key, block.wide(tags, tag)) for tag, key in _WINDOWS.items() if tag in tags]
    windows = dict(clean.values(of_windows))
    titles = [block.text(tags, tag) for tag in _TITLES if tag in tags]
    if title := next(filter(None, titles), ""):
        windows["title"] = clean.value(title)
    lines = [about.get("description", ""), *titles, *(text for _, text in of_windows)]
    lines += [block.coded(tags, _COMMENT), block.coded(gps, _AREA)]
    distinct = dict.fromkeys(filter(None, (clean.value(line, _MAX_VALUE) for line in lines)))
    return Exif(
        {**about, **_dates(tags, block), **_place(gps, block)}, windows, tuple(distinct), least_certain(block.read_in)
    )


def _dates(tags: Tags, block: _Block) -> dict[str, str]:
    found = ((key, _iso(block.text(tags, tag), block.text(tags, _ZONES[key]))) for tag, key in _DATES)
    return {key: date for key, date in found if date}


def _place(gps: Tags, block: _Block) -> dict[str, float]:
    """Return latitude and longitude in degrees, north and east positive; nothing unless both are valid."""
    latitude = block.degrees(gps, 2, 1, b"S")
    longitude = block.degrees(gps, 4, 3, b"W")
    if latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return {}
    return {"latitude": latitude, "longitude": longitude}


def _iso(text: str, zone: str) -> str:
    text = text.strip()
    match = _DATE.fullmatch(text)
    if not text.strip(_NO_DATE):
        return ""
    if match is None:
        return text[:_LONGEST_DATE]
    year, month, day, hour, minute, second, with_zone = match.groups()
    zone = with_zone or zone.strip()
    date = f"{year}-{month}-{day}"
    if hour is None:
        return date
    return f"{date}T{hour}:{minute}:{second or '00'}{zone if _ZONE.fullmatch(zone) or zone == 'Z' else ''}"


class _Block:
    """Directories of tags at offsets from the block's start."""

    def __init__(self, file: BinaryIO, start: int, length: int, order: str) -> None:
        self._file, self._start, self._length, self._order = file, start, length, order
        self.read_in: list[Detected] = []  # the charsets of its strings

    def _read(self, at: int, count: int) -> bytes:
        if at + count > self._length:
            return b""
        self._file.seek(self._start + at)
        return self._file.read(count)

    def directory(self, at: int) -> Tags:
        """Return the tags of the directory at `at`, without those whose value is not in the block."""
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
        """Return a whole number; 0 if there is none."""
        kind, value = tags.get(tag, (0, b""))
        if kind == 3:
            return int(struct.unpack_from(self._order + "H", value)[0])
        return int(struct.unpack_from(self._order + "I", value)[0]) if kind in (4, 13) else 0

    def text(self, tags: Tags, tag: int) -> str:
        """Return a string: ASCII by the standard, or UTF-8 since Exif 3.0, and in cameras and programs any charset; a
        copyright may have two parts with a NUL between them. "" if there is none."""
        kind, value = tags.get(tag, (0, b""))
        if kind not in (_STRING, _UTF8):
            return ""
        return "; ".join(filter(None, (part.strip() for part in self._decoded(value.rstrip(b"\0")).split("\0"))))

    def wide(self, tags: Tags, tag: int) -> str:
        """Return a string of Windows: UTF-16, little-endian in any block."""
        kind, value = tags.get(tag, (0, b""))
        return self._utf_16(value, "<") if kind in (1, 7) else ""

    def coded(self, tags: Tags, tag: int) -> str:
        """Return a string that begins with the code of its charset. A string without a code, with an unknown one, or
        not in the charset of its code is decoded like any string."""
        kind, value = tags.get(tag, (0, b""))
        if kind not in (1, _STRING, 7, _UTF8):
            return ""
        code, rest = value[:_CODE].rstrip(b"\0 ").upper(), value[_CODE:]
        if code == b"UNICODE":
            return self._utf_16(rest, self._order)
        if code == b"JIS":
            return self._jis(rest.rstrip(b"\0"))
        known = code in (b"", b"ASCII")
        return self._decoded((rest if known else value).strip(b"\0")).replace("\0", " ").strip()

    def _decoded(self, value: bytes, hint: str = "") -> str:
        if not value.translate(None, _PRINTED):
            return value.decode("ascii")
        text, detected = decode(value, hint=hint)
        self.read_in.append(detected)
        return text

    def _utf_16(self, value: bytes, order: str) -> str:
        """Decode UTF-16 in the byte order of its mark; else in the one that gives fewer rows of Unicode, because the
        standard leaves it open and programs differ; in `order` if both give the same. Some programs write ASCII or
        UTF-8."""
        bare, value = value.strip(b"\0"), value[: len(value) & ~1]
        if value[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return value.decode("utf-16", "replace").split("\0", 1)[0].strip()
        if b"\0" not in bare and len(bare) > 1 and 2 * sum(c < 0x80 for c in bare) > len(bare) and reads(bare, "utf-8"):
            return bare.decode("utf-8", "replace").strip()
        codecs = ("utf-16-le", "utf-16-be") if order == "<" else ("utf-16-be", "utf-16-le")
        read = [(codec, value.decode(codec, "replace").split("\0", 1)[0].strip()) for codec in codecs]
        clear = [one for one in read if readable(one[1].encode("utf-8", "replace"), "utf-8")]
        codec, text = min(clear or read, key=lambda one: len({ord(c) >> 8 for c in one[1]}) if one[1] else _MAX_VALUE)
        self.read_in.append(Detected(codec, CharsetSource.HINT, guessed=not clear))
        return text

    def _jis(self, value: bytes) -> str:
        """Decode JIS X 0208: with escape sequences, as bare pairs of seven bits, or in other charsets."""
        pairs = len(value) % 2 == 0 and value.isascii() and _JIS_ROWS.issuperset(value[::2])
        if pairs and b"\x1b" not in value and (text := bytes(c | 0x80 for c in value).decode("euc_jp", "ignore")):
            return text.strip()
        return self._decoded(value, hint="shift_jis").strip()

    def degrees(self, tags: Tags, tag: int, reference: int, negative: bytes) -> float | None:
        """Return degrees, minutes and seconds as one number, to seven digits; None if they are missing."""
        kind, value = tags.get(tag, (0, b""))
        if kind != 5 or len(value) < 24:
            return None
        out = 0.0
        for i in range(3):
            upper, lower = struct.unpack_from(self._order + "II", value, 8 * i)
            out += upper / lower / 60**i if lower else 0.0
        sign = -1 if tags.get(reference, (0, b""))[1][:1] == negative else 1
        return round(sign * out, 7)
