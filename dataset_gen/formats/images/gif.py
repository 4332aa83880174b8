"""GIF pictures (GIF89a specification).

With 7-bit pixels every LZW code is one byte as long as the table is cleared in time, so no compressor is needed.
"""

from __future__ import annotations

import struct

from dataset_gen.made import Made, Order, leaf

_CLEAR, _END = b"\x80", b"\x81"
_RUN = 120  # pixels between two clear codes; at 126 the codes would grow to nine bits
_KEEP_SEVEN_BITS = bytes(i & 0x7F for i in range(256))


def build(order: Order) -> Made:
    """A noisy picture with a palette of 128 colours."""
    height = max(1, min(60_000, (order.size - 420) // (_RUN + 2)))
    palette = order.dice.noise(3 * 128)
    pixels = order.dice.noise(height * _RUN).translate(_KEEP_SEVEN_BITS)
    codes = b"".join(_CLEAR + pixels[i : i + _RUN] for i in range(0, len(pixels), _RUN)) + _END
    blocks = b"".join(bytes((len(part),)) + part for part in (codes[i : i + 255] for i in range(0, len(codes), 255)))
    data = b"".join(
        (
            b"GIF89a",
            struct.pack("<HHBBB", _RUN, height, 0xF6, 0, 0),
            palette,
            b"," + struct.pack("<HHHHB", 0, 0, _RUN, height, 0),
            b"\x07" + blocks + b"\0",
            b";",
        )
    )
    return leaf(data, "image/gif")
