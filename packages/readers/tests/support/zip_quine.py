"""A zip archive whose only member is the archive itself, byte for byte (after Russ Cox, "Zip Files All The Way Down").

Its deflate stream is a program of two opcodes of UNIT bytes each: L(n) puts out the next n bytes as they stand, R(n)
repeats the last n bytes put out. The CRC stands inside the data that it is computed over; it is found by solving 32
linear equations over GF(2), because CRC-32 is affine in the bytes."""

from __future__ import annotations

import struct
import zlib

UNIT = 10
NAME = b"quine.zip"
_FINAL = b"\x03\x00"  # an empty last block
# (least length, first code, extra bits) and (least distance, code, extra bits) of RFC 1951, 3.2.5, as far as needed
_LENGTHS = ((35, 273, 3), (43, 274, 3), (51, 275, 3), (59, 276, 3), (67, 277, 4), (83, 278, 4), (99, 279, 4))
_DISTANCES = ((33, 10, 4), (49, 11, 4), (65, 12, 5), (97, 13, 5))


class _Bits:
    def __init__(self) -> None:
        self._value = 0
        self.count = 0

    def put(self, value: int, width: int) -> None:
        self._value |= value << self.count
        self.count += width

    def code(self, value: int, width: int) -> None:
        """A Huffman code: its most significant bit first."""
        self.put(int(f"{value:0{width}b}"[::-1], 2), width)

    def stored(self, length: int) -> bytes:
        """Fill up with empty blocks, then the head of a stored block: UNIT bytes in all."""
        while self.count + 3 <= 8 * (UNIT - 5):
            self.put(0b010, 3)
            self.code(0, 7)
        self.put(0, 3)
        assert self.count <= 8 * (UNIT - 4)
        return self._value.to_bytes(UNIT - 4, "little") + struct.pack("<HH", length, length ^ 0xFFFF)


def _literal(count: int) -> bytes:
    return _Bits().stored(count)


def _repeat(count: int) -> bytes:
    bits = _Bits()
    bits.put(0b010, 3)
    least, code, extra = max(row for row in _LENGTHS if row[0] <= count)
    bits.code(code - 256, 7)
    bits.put(count - least, extra)
    least, code, extra = max(row for row in _DISTANCES if row[0] <= count)
    bits.code(code, 5)
    bits.put(count - least, extra)
    bits.code(0, 7)
    return bits.stored(0)


def _build(crc: int, packed: int, size: int) -> bytes:
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x5821, crc, packed, size, len(NAME), 0)
    p = b"PK\x03\x04" + fields + NAME
    directory = b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + NAME
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(directory), len(p) + packed, 0)
    s = _FINAL + directory + end
    lp, rp = _literal(len(p) + UNIT), _repeat(len(p) + UNIT)
    ls, rs = _literal(len(s) + UNIT), _repeat(len(s) + UNIT)
    l0, l1, l4, r4 = _literal(0), _literal(UNIT), _literal(4 * UNIT), _repeat(4 * UNIT)
    middle = [lp, p, lp, rp, l1, rp, l1, l1, l4, rp, l1, l1, l4, r4, l4, r4, l4, r4, l4, r4]
    return b"".join([p, *middle, l4, r4, l0, l0, ls, r4, l0, l0, ls, rs, s, rs, s])


def _solved(rows: list[int]) -> int:
    """x with rows·x = 0 over GF(2): bit i of a row stands for bit i of x, bit 32 for the constant."""
    pivots: dict[int, int] = {}
    for row in rows:
        for bit, pivot in pivots.items():
            if row >> bit & 1:
                row ^= pivot
        low = row & 0xFFFFFFFF
        if not low:
            assert not row, "no solution; another NAME has one"
            continue
        bit = low.bit_length() - 1
        pivots = {b: r ^ row if r >> bit & 1 else r for b, r in pivots.items()} | {bit: row}
    return sum((row >> 32 & 1) << bit for bit, row in pivots.items())


def zip_quine() -> bytes:
    """The archive."""
    size = len(_build(0, 0, 0))
    packed = size - (30 + len(NAME)) - (46 + len(NAME) + 22)
    constant = zlib.crc32(_build(0, packed, size))
    columns = [zlib.crc32(_build(1 << bit, packed, size)) ^ constant ^ (1 << bit) for bit in range(32)]
    rows = [
        sum((column >> bit & 1) << i for i, column in enumerate(columns)) | (constant >> bit & 1) << 32
        for bit in range(32)
    ]
    return _build(_solved(rows), packed, size)
