"""PNG pictures: 8-bit RGB, one IDAT chunk (PNG specification, third edition, §5 and §11)."""

from __future__ import annotations

import struct

from dataset_gen.made import Made, Order, branch
from dataset_gen.packing.zip import crc32, zlib_stream

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
WIDTH = 256


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc32(name + data))


def build(order: Order) -> Made:
    """Rows of noise (which do not compress) among flat rows (which do), like a screenshot with a photo in it."""
    dice = order.dice
    noisy = max(1, (order.size - 200) // (WIDTH * 3))
    rows = []
    for _ in range(noisy):
        rows.append(b"\0" + dice.noise(WIDTH * 3))
        if dice.chance(0.5):
            rows.extend([b"\0" + bytes((dice.below(256), dice.below(256), dice.below(256))) * WIDTH] * 2)
    pixels = b"".join(rows)
    header = struct.pack(">IIBBBBB", WIDTH, len(rows), 8, 2, 0, 0, 0)
    data = b"".join((_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", zlib_stream(pixels)), _chunk(b"IEND", b"")))
    return branch(data, "image/png", own=(header, pixels))
