"""WebP pictures, lossless (RFC 9649).

Prefix codes of eight bits for all 256 values of green, red and blue make any bytes a picture, so no compressor is needed.
"""

from __future__ import annotations

import functools
import struct

from dataset_gen.made import Made, Order, leaf

WIDTH = 320
_MOST = 16_000  # rows; the format has 16,384
_Bits = list[tuple[int, int]]  # (value, number of bits), the lowest bit first
# Section 5.2.2.2: of the code for code lengths only length 8 is used, which is the twelfth in its order.
_EIGHT: _Bits = [(0, 1), (12 - 4, 4), *[(0, 3)] * 11, (1, 3)]
_CODES: _Bits = [
    (0, 3),  # no transform, no colour cache, no meta prefix codes
    *_EIGHT, (1, 1), (3, 3), (256 - 2, 8),  # green: the first 256 of 280 symbols
    *_EIGHT, (0, 1),  # red
    *_EIGHT, (0, 1),  # blue
    (1, 1), (0, 1), (1, 1), (255, 8),  # alpha: always 255
    (1, 1), (0, 1), (0, 1), (0, 1),  # distances: none
]  # fmt: skip


@functools.cache
def _header(height: int) -> tuple[int, int]:
    """What comes before the pixels, as a number and its bits."""
    value = length = 0
    for part, bits in [(0x2F, 8), (WIDTH - 1, 14), (height - 1, 14), (0, 1), (0, 3), *_CODES]:
        value |= part << length
        length += bits
    return value, length


def build(order: Order) -> Made:
    """A picture of noise, as wide as a preview."""
    height = max(1, min(_MOST, (order.size - 80) // (WIDTH * 3)))
    value, length = _header(height)
    noise = order.dice.noise(WIDTH * height * 3 + 1)
    spare = length % 8  # the first bits of the pixels share a byte with the last ones of the header
    head = bytearray(value.to_bytes(-(-length // 8), "little"))
    if spare:
        head[-1] |= noise[0] << spare & 0xFF
    picture = bytes(head) + noise[1:]
    picture += b"\0" * (len(picture) & 1)
    chunk = b"VP8L" + struct.pack("<I", len(picture)) + picture
    return leaf(b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk, "image/webp")
