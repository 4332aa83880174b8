"""Pages of a PST: trailers, signatures, checksums, the two B-trees ([MS-PST] 2.2.2.7, 5.3, 5.5)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

PAGE = 512
BODY = 496  # bytes of a page before its trailer
BBT, NBT, FMAP, PMAP, AMAP, FPMAP, DLIST = range(0x80, 0x87)
_ENTRIES = 488  # bytes of a B-tree page's entries
_TRAILER = struct.Struct("<BBHIQ")
_BRANCH = struct.Struct("<QQQ")


def checksum(data: bytes | bytearray | memoryview) -> int:
    """The format's CRC: polynomial of CRC-32, beginning at 0, not inverted at the end (5.3)."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def signature(offset: int, bid: int) -> int:
    """What a page or block at `offset` with that id is signed with (5.5): of the lower 32 bits only."""
    mixed = offset ^ bid
    return (mixed >> 16 ^ mixed) & 0xFFFF


def page(kind: int, body: bytes, offset: int, bid: int) -> bytes:
    """A page of 512 bytes; maps are known by their offset and not signed (2.2.2.7.1)."""
    body = body.ljust(BODY, b"\0")
    signed = 0 if kind in (FMAP, PMAP, AMAP, FPMAP) else signature(offset, bid)
    return body + _TRAILER.pack(kind, kind, signed, checksum(body), bid)


def write_tree(
    kind: int, entries: bytes, width: int, place: Callable[[Callable[[int], bytes]], int], next_id: int
) -> tuple[int, int, int]:
    """Write a B-tree over sorted `entries` of `width` bytes each, which begin with their keys (2.2.2.7.7).

    `place` gives a page its offset and calls back for its bytes. Returns id and offset of the root, and the next id.
    """
    level = 0
    while True:
        most = _ENTRIES // width
        step = most * width
        above = bytearray()
        for start in range(0, max(1, len(entries)), step):
            piece = entries[start : start + step]
            tail = struct.pack("<4BI", len(piece) // width, most, width, level, 0)
            body = piece.ljust(_ENTRIES, b"\0") + tail
            bid = next_id
            next_id += 1
            offset = place(lambda at, body=body, bid=bid: page(kind, body, at, bid))  # type: ignore[misc]
            above += _BRANCH.pack(int.from_bytes(piece[:8], "little"), bid, offset)
        if len(above) == _BRANCH.size:
            return bid, offset, next_id
        entries, width, level = bytes(above), _BRANCH.size, level + 1
