"""Directories of tags as TIFF 6.0 (section 2) and Exif have them, little-endian."""

from __future__ import annotations

import struct

Entry = tuple[int, int, int, bytes]  # tag, type, count, raw value


def text(tag: int, value: str) -> Entry:
    """ASCII, NUL at its end."""
    raw = value.encode("ascii") + b"\0"
    return tag, 2, len(raw), raw


def short(tag: int, *values: int) -> Entry:
    """16 bits each."""
    return tag, 3, len(values), struct.pack(f"<{len(values)}H", *values)


def long(tag: int, *values: int) -> Entry:
    """32 bits each."""
    return tag, 4, len(values), struct.pack(f"<{len(values)}I", *values)


def rational(tag: int, *values: tuple[int, int]) -> Entry:
    """Fractions."""
    return tag, 5, len(values), b"".join(struct.pack("<II", *value) for value in values)


def directory(entries: list[Entry], at: int, following: int = 0) -> bytes:
    """The directory at offset `at`, followed by its long values; `following` is the offset of the next directory."""
    entries = sorted(entries)
    place = at + 2 + 12 * len(entries) + 4
    head, tail = [struct.pack("<H", len(entries))], []
    for tag, kind, count, raw in entries:
        if len(raw) <= 4:
            value = raw.ljust(4, b"\0")
        else:
            value = struct.pack("<I", place)
            raw += b"\0" * (len(raw) & 1)  # values begin on even offsets
            tail.append(raw)
            place += len(raw)
        head.append(struct.pack("<HHI", tag, kind, count) + value)
    return b"".join((*head, struct.pack("<I", following), *tail))
