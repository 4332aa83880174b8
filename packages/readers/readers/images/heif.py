"""Position of Exif in HEIC and AVIF pictures (ISO/IEC 14496-12 and 23008-12): an item of the box `meta`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

_MAX_BOXES = 64  # on the outermost level
_MAX_META = 1 << 20  # bytes of the box that lists the items
_MAX_ITEMS = 10_000


def exif_place(file: BinaryIO, size: int) -> tuple[int, int] | None:
    """Return (start, length) of the TIFF structure; None if there is none or its position cannot be read."""
    try:
        meta = _meta(file, size)
        inner = dict(_boxes(meta, 4))
        wanted = _exif_item(inner[b"iinf"])
        start, length = next(place for item, place in _places(inner[b"iloc"]) if item == wanted)
    except (LookupError, StopIteration):
        return None
    file.seek(min(start, size))
    skip = 4 + int.from_bytes(file.read(4), "big")  # up to the byte order mark, usually over the letters Exif
    return (start + skip, min(length, size - start) - skip) if skip < length else None


def breaks_off(file: BinaryIO, size: int) -> bool:
    """Return whether the outermost boxes do not add up to the file, or none of them describes or contains a picture."""
    kinds, end = set[bytes](), 0
    try:
        for kind, _, end in _outermost(file, size):
            if end > size:
                return True
            kinds.add(kind)
    except LookupError:
        return True
    return end == size and not kinds & {b"meta", b"moov"}


def _meta(file: BinaryIO, size: int) -> bytes:
    """Return the content of the box `meta`. Raises LookupError if there is none."""
    for kind, start, end in _outermost(file, size):
        if kind == b"meta":
            file.seek(start)
            return file.read(min(end - start, _MAX_META))
    raise LookupError("no box meta")


def _outermost(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, start of the content, end) of the outermost boxes; the end may be after the end of the file. Raises
    LookupError if no box begins at a position."""
    at = 0
    for _ in range(_MAX_BOXES):
        if at >= size:
            return
        file.seek(at)
        head = file.read(16)
        length = int.from_bytes(head[:4], "big")
        header = 16 if length == 1 else 8
        length = int.from_bytes(head[8:16], "big") if length == 1 else length or size - at
        if len(head) < 8 or length < header:
            raise LookupError("no box")
        yield head[4:8], at + header, at + length
        at += length


def _boxes(data: bytes, at: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield (kind, content) of the boxes from `at` on."""
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if length < 8:
            return
        yield data[at + 4 : at + 8], data[at + 8 : at + length]
        at += length


def _exif_item(content: bytes) -> int:
    """Return the number of the item of the type Exif. Raises LookupError if there is none."""
    wide = content[0] > 0
    for kind, entry in _boxes(content, 8 if wide else 6):
        number = 4 if entry[0] == 3 else 2
        if kind == b"infe" and entry[4 + number + 2 : 4 + number + 6] == b"Exif":
            return int.from_bytes(entry[4 : 4 + number], "big")
    raise LookupError("no Exif")


def _places(content: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield (item's number, (start, length) of its first extent) of items stored in the file (8.11.3 of 14496-12)."""
    version, at = content[0], 6
    offsets, lengths, bases = content[4] >> 4, content[4] & 15, content[5] >> 4
    indexes = content[5] & 15 if version else 0
    wide = 4 if version == 2 else 2

    def number(count: int) -> int:
        nonlocal at
        at += count
        if at > len(content):
            raise LookupError("the list of positions ends too early")
        return int.from_bytes(content[at - count : at], "big")

    for _ in range(min(number(wide), _MAX_ITEMS)):
        item = number(wide)
        method = number(2) & 15 if version else 0
        number(2)
        base = number(bases)
        extents = [(number(indexes), number(offsets), number(lengths)) for _ in range(number(2))]
        if extents and method == 0:
            yield item, (base + extents[0][1], extents[0][2])
