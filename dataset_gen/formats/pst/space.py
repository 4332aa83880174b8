"""Locations in a PST: sections of 253,952 bytes, each with its allocation map ([MS-PST] 1.3.2, 2.2.2.7.2)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import IO

from dataset_gen.formats.mapi_mail import crc

PAGE = 512
BODY = 496  # bytes of a page before its trailer
BBT, NBT, FMAP, PMAP, AMAP, FPMAP, DLIST = range(0x80, 0x87)
_ENTRIES = 488  # bytes of a B-tree page's entries
_TRAILER = struct.Struct("<BBHIQ")
_BRANCH = struct.Struct("<QQQ")


def signature(offset: int, bid: int) -> int:
    """Return the signature of the page or block `bid` at `offset` (5.5); only the lower 32 bits count."""
    mixed = offset ^ bid
    return (mixed >> 16 ^ mixed) & 0xFFFF


def page(kind: int, body: bytes, offset: int, bid: int) -> bytes:
    """Return a page of 512 bytes; maps are known by their offset and not signed (2.2.2.7.1)."""
    body = body.ljust(BODY, b"\0")
    signed = 0 if kind in (FMAP, PMAP, AMAP, FPMAP) else signature(offset, bid)
    return body + _TRAILER.pack(kind, kind, signed, crc(body), bid)


def write_tree(
    kind: int, entries: bytes, width: int, place: Callable[[Callable[[int], bytes]], int], next_id: int
) -> tuple[int, int, int]:
    """Write a B-tree over sorted `entries` of `width` bytes each, which begin with their keys (2.2.2.7.7).

    `place` gives a page its offset and calls back for its bytes. Returns id and offset of the root, and the next id."""
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


FIRST = 0x4400  # offset of the first allocation map
SPAN = 253_952  # bytes that one map maps, itself included: 496 * 8 * 64
SLOT = 64  # bytes that one bit stands for
_PMAP_EVERY = 8
_FMAP_FIRST, _FMAP_EVERY = 128, 496  # the header's own free map is good for the first 128 maps
_FPMAP_FIRST, _FPMAP_EVERY = 8192, 496 * 64  # likewise: 128 bytes of bits, one for a page map each
_FULL = b"\xff" * BODY


class _Section:
    """The bytes between two allocation maps while they are filled."""

    __slots__ = ("data", "end", "offset", "runs", "start")

    def __init__(self, index: int) -> None:
        self.offset = FIRST + index * SPAN
        self.data = bytearray(SPAN)
        kinds = [AMAP]
        if index % _PMAP_EVERY == 0:
            kinds.append(PMAP)
        if index >= _FMAP_FIRST and (index - _FMAP_FIRST) % _FMAP_EVERY == 0:
            kinds.append(FMAP)
        if index >= _FPMAP_FIRST and (index - _FPMAP_FIRST) % _FPMAP_EVERY == 0:
            kinds.append(FPMAP)
        for position, kind in enumerate(kinds[1:], 1):
            at = position * PAGE
            # Deprecated, but they have to be there; what they say is "nothing known" (2.6.1.1.2).
            self.data[at : at + PAGE] = page(kind, _FULL, self.offset + at, self.offset + at)
        self.start, self.end = 0, len(kinds) * PAGE  # of the run that grows
        self.runs: list[tuple[int, int]] = []  # earlier runs; between two runs there is a gap

    def take(self, size: int, align: int) -> int | None:
        """Reserve `size` bytes and return their offset; None if they do not fit."""
        at = -(-self.end // align) * align
        if at + size > SPAN:
            return None
        if at > self.end:
            self.runs.append((self.start, self.end))
            self.start = at
        self.end = at + size
        return at

    def close(self) -> int:
        """Fill in the allocation map; returns the bytes that are free."""
        bits = 0
        free = SPAN
        for start, end in (*self.runs, (self.start, self.end)):
            count = (end - start) // SLOT
            bits |= ((1 << count) - 1) << ((SPAN - end) // SLOT)  # the first slot is the highest bit
            free -= count * SLOT
        self.data[:PAGE] = page(AMAP, bits.to_bytes(BODY, "big"), self.offset, self.offset)
        return free


class Space:
    """The file behind its header, filled from front to back.

    Two sections are kept in memory: what did not fit into the older one's end began the newer, and smaller things may
    still fill that end. `file` is only written to, in order, until the header is due."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._open = [_Section(0)]
        self._next = 1
        self.free = 0  # bytes, in the sections written
        file.write(bytes(FIRST))

    @property
    def last_map(self) -> int:
        """Offset of the last allocation map."""
        return FIRST + (self._next - 1) * SPAN

    @property
    def end(self) -> int:
        """Size of the file: it grows by whole sections (2.6.1.1.2)."""
        return FIRST + self._next * SPAN

    def take(self, size: int, align: int = SLOT) -> tuple[bytearray, int, int]:
        """Room for `size` bytes, a multiple of `SLOT`: buffer, position in it, offset in the file."""
        for section in self._open:
            at = section.take(size, align)
            if at is not None:
                return section.data, at, section.offset + at
        if len(self._open) == 2:
            self._write(self._open.pop(0))
        section = _Section(self._next)
        self._next += 1
        self._open.append(section)
        at = section.take(size, align)
        if at is None:
            raise ValueError(f"{size} bytes do not fit between two allocation maps")
        return section.data, at, section.offset + at

    def put_page(self, make: Callable[[int], bytes]) -> int:
        """Place a page that `make` gives for its offset."""
        data, at, offset = self.take(PAGE, PAGE)
        data[at : at + PAGE] = make(offset)
        return offset

    def finish(self) -> None:
        """Write what is in memory; afterwards `free` counts for the whole file."""
        for section in self._open:
            self._write(section)
        self._open = []

    def _write(self, section: _Section) -> None:
        self.free += section.close()
        self._file.write(section.data)
