"""The structures around the text of a Word document ([MS-DOC]): first block, formatting pages, tables."""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Positions in FibRgFcLcb97 (2.5.6).
STSHF, PLCF_SED, PLCF_BTE_CHPX, PLCF_BTE_PAPX, STTBF_FFN, DOP, CLX = 1, 6, 12, 13, 15, 31, 33
_PLACES = 93
_PARAGRAPHS_A_PAGE = 29  # (511 - 4) // (4 + 13)
_EXTENDED, _TABLE_1 = 0x1000, 0x0200
_LAST_FIXED = 15  # styles whose numbers are fixed


@dataclass(slots=True)
class TableStream:
    """The stream 1Table, filled one structure after the other; `places` are (offset, bytes) by position in the FIB."""

    raw: bytearray = field(default_factory=bytearray)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)

    def put(self, position: int, data: bytes) -> None:
        """One structure, at an even offset."""
        self.raw.extend(bytes(len(self.raw) % 2))
        self.places[position] = (len(self.raw), len(data))
        self.raw += data


@dataclass(frozen=True, slots=True)
class Pages:
    """Formatting pages of 512 bytes: one of characters, then those of paragraphs with their bounds in the file."""

    raw: list[bytes]
    bounds: list[int]


def fib(
    places: Mapping[int, tuple[int, int]],
    *,
    text: tuple[int, int],
    size: int,
    characters: int,
    flags: int = 0,
    key: int = 0,
) -> bytes:
    """The file information block (2.5.1) of Word 97: `text` from and to, the stream's `size`, characters of the main
    text; `key` is lKey (bytes of the encryption header)."""
    base = struct.pack(
        "<HHHHHHHIBBHHII", 0xA5EC, 0x00C1, 0, 0x0409, 0, _TABLE_1 | _EXTENDED | flags, 0x00BF, key, 0, 0, 0, 0, *text
    )
    words = struct.pack("<H26xHH", 14, 0x0409, 22)
    longs = struct.pack("<III I 18I", size, 0, 0, characters, *([0] * 18))
    offsets = [number for position in range(_PLACES) for number in places.get(position, (0, 0))]
    return base + words + longs + struct.pack(f"<H{len(offsets)}IH", _PLACES, *offsets, 0)


def pages(start: int, ends: Sequence[int], pictures: Sequence[tuple[int, int]] = ()) -> Pages:
    """Default formatting for the characters and for each paragraph (2.9.33, 2.9.174); `pictures` are (offset of its
    character in the file, its offset in the stream Data)."""
    raw = [_characters(start, ends[-1], pictures)]
    bounds = [start]
    for at in range(0, len(ends), _PARAGRAPHS_A_PAGE):
        some = [bounds[-1], *ends[at : at + _PARAGRAPHS_A_PAGE]]
        raw.append(struct.pack(f"<{len(some)}I", *some).ljust(511, b"\0") + bytes((len(some) - 1,)))
        bounds.append(some[-1])
    return Pages(raw, bounds)


def _characters(start: int, end: int, pictures: Sequence[tuple[int, int]]) -> bytes:
    """A page of characters (2.9.33): by default, and each picture's as what it stands for (2.6.1)."""
    bounds, formats, stored = [start], [], b""
    for at, place in pictures:
        stored = struct.pack("<BHBHI", 9, 0x0855, 1, 0x6A03, place) + stored
        bounds += [at, at + 1]
        formats += [0, (510 - len(stored)) // 2]
    bounds.append(end)
    formats.append(0)
    head = struct.pack(f"<{len(bounds)}I{len(formats)}B", *bounds, *formats)
    return head.ljust(510 - len(stored), b"\0") + stored + bytes((0, len(formats)))


def piece_table(pieces: Sequence[tuple[int, int]]) -> bytes:
    """A Clx (2.9.38) of pieces: characters, FcCompressed."""
    bounds = [0]
    for count, _ in pieces:
        bounds.append(bounds[-1] + count)
    plc = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(struct.pack("<HIH", 0, fc, 0) for _, fc in pieces)
    return b"\2" + struct.pack("<I", len(plc)) + plc


@functools.cache
def stylesheet() -> bytes:
    """STSH (2.9.271): the paragraph style Normal and the default character style at their fixed numbers."""
    head = struct.pack("<HHHHHHHHHH", 18, _LAST_FIXED, 10, 1, 0x5B, 15, 0, 0, 0, 0)
    styles = [b""] * _LAST_FIXED
    styles[0] = _style(0, 1, "Normal", struct.pack("<HHH", 2, 0, 0))
    styles[10] = _style(65, 2, "Default Paragraph Font", struct.pack("<H", 0))
    return head + b"".join(struct.pack("<H", len(style)) + style for style in styles)


def _style(identifier: int, kind: int, name: str, formatting: bytes) -> bytes:
    """STD (2.9.260): kind 1 is of paragraphs, 2 of characters; `formatting` are its UPX."""
    title = struct.pack("<H", len(name)) + name.encode("utf-16-le") + b"\0\0"
    size = 10 + len(title) + len(formatting)
    base = struct.pack("<HHHHH", identifier, kind | 0xFFF0, 2 if kind == 1 else 1, size, 0)
    return base + title + formatting


@functools.cache
def fonts() -> bytes:
    """SttbfFfn (2.9.286) of one font."""
    name = "Times New Roman".encode("utf-16-le") + b"\0\0"
    font = struct.pack("<BHBB10s24s", 0x16, 400, 0, 0, bytes(10), bytes(24)) + name
    return struct.pack("<HHB", 1, 0, len(font)) + font


@functools.cache
def document_properties() -> bytes:
    """Dop97 (2.7.4): nothing set but the distance of default tabs, half an inch."""
    return bytes(10) + struct.pack("<H", 720) + bytes(488)
