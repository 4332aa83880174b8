"""Records of drawings ([MS-ODRAW]), which doc and ppt share: how they are put together, and pictures."""

from __future__ import annotations

import hashlib
import struct

JPEG, PNG = 5, 6  # types of pictures (2.4.1)
TYPES = {"jpg": JPEG, "png": PNG}
_BLIPS = {JPEG: (0xF01D, 0x46A), PNG: (0xF01E, 0x6E0)}  # record and instance (2.2.27, 2.2.28)


def atom(kind: int, data: bytes, instance: int = 0, version: int = 0) -> bytes:
    """A record that holds no others."""
    return struct.pack("<HHI", instance << 4 | version, kind, len(data)) + data


def container(kind: int, *parts: bytes, instance: int = 0) -> bytes:
    """A record of records."""
    return atom(kind, b"".join(parts), instance, 0xF)


def blip(kind: int, data: bytes) -> bytes:
    """A picture's record: the hash it is known by, a tag, the file as it is."""
    record, instance = _BLIPS[kind]
    return atom(record, hashlib.md5(data).digest() + b"\xff" + data, instance)


def store_entry(kind: int, data: bytes, size: int, *, at: int = 0, inside: bytes = b"") -> bytes:
    """An entry of the picture store (2.2.32) for a record of `size` bytes, which lies at `at` of another stream or
    `inside` the entry."""
    head = struct.pack("<BB16sHIIIBBBB", kind, kind, hashlib.md5(data).digest(), 0xFF, size, 1, at, 0, 0, 0, 0)
    return atom(0xF007, head + inside, kind, 2)


def inline_picture(kind: int, data: bytes, number: int) -> bytes:
    """A picture in a line of a Word document ([MS-DOC] 2.9.192): its frame, then an entry that holds the picture."""
    shape = container(
        0xF004,
        atom(0xF00A, struct.pack("<II", 1024 + number, 0x0A00), 75, 2),
        atom(0xF00B, struct.pack("<HI", 0x4104, 1), 1, 3),
    )
    record = blip(kind, data)
    drawing = shape + store_entry(kind, data, len(record), inside=record)
    measures = struct.pack("<hhHH", 4000, 3000, 1000, 1000)  # in twentieths of a point; scales in thousandths
    head = struct.pack("<IHhhhH14s8s30s", 68 + len(drawing), 68, 0x64, 0, 0, 0, bytes(14), measures, bytes(30))
    return head + bytes(2) + drawing
