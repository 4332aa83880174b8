"""Windows bitmaps: 24 bits a pixel, not compressed (BITMAPFILEHEADER and BITMAPINFOHEADER)."""

from __future__ import annotations

import struct

from dataset_gen.made import Made, Order, leaf

WIDTH = 256
_ROW = WIDTH * 3
_HEAD = 54
_BLOCK = 8  # rows drawn at a time


def build(order: Order) -> Made:
    """A screenshot: blocks of flat rows, and of noisy ones."""
    dice = order.dice
    height = max(1, (order.size - _HEAD) // _ROW)
    rows: list[bytes] = []
    for _ in range(0, height, _BLOCK):
        block = dice.noise(_ROW) if dice.chance(0.4) else dice.noise(3) * WIDTH
        rows.append(block * _BLOCK)
    pixels = b"".join(rows)[: height * _ROW]
    head = b"BM" + struct.pack("<IHHI", _HEAD + len(pixels), 0, 0, _HEAD)
    info = struct.pack("<IiiHHIIiiII", 40, WIDTH, height, 1, 24, 0, len(pixels), 3780, 3780, 0, 0)
    return leaf(head + info + pixels, "image/bmp")
