"""TIFF pictures of one or more pages: fax-like black and white, or colour (TIFF 6.0; JPEG by its technical note 2)."""

from __future__ import annotations

import functools
import struct

from dataset_gen.formats.images import jpeg
from dataset_gen.formats.images.tiff_tags import Entry, directory, long, rational, short, text
from dataset_gen.made import Made, Order, leaf
from dataset_gen.rng import Dice

_POOL_SEED = 20_250_105
_ROWS = 400  # different rows in the pool
_ROW = 208  # bytes of a row: 1,664 pixels, A4 at 200 dots an inch
_PAGE_BYTES = 45_000  # of a fax-like page
_COLOUR_BYTES = 110_000


def _packed(row: bytes) -> bytes:
    """PackBits (section 9): runs of equal bytes, and literal ones between."""
    out = bytearray()
    at = 0
    while at < len(row):
        run = 1
        while at + run < len(row) and run < 128 and row[at + run] == row[at]:
            run += 1
        if run > 2:
            out += bytes((257 - run, row[at]))
        else:
            run = next((n for n in range(1, 128) if row[at + n : at + n + 3] == row[at + n : at + n + 1] * 3), 128)
            literal = row[at : at + min(run, len(row) - at)]
            run = len(literal)
            out += bytes((run - 1,)) + literal
        at += run
    return bytes(out)


@functools.cache
def _pool() -> tuple[bytes, ...]:
    """Packed rows: a white margin on either side, words of noise and gaps between, every tenth row white."""
    dice = Dice(_POOL_SEED)
    rows = []
    for number in range(_ROWS):
        row = bytearray(b"\xff" * _ROW)
        at = 20
        while number % 10 and at < _ROW - 30:
            word = dice.between(2, 9)
            row[at : at + word] = dice.noise(word)
            at += word + dice.between(3, 9)
        rows.append(_packed(bytes(row)))
    return tuple(rows)


def _fax(dice: Dice, size: int) -> tuple[list[Entry], bytes]:
    """The tags of a page and its strip."""
    pool = _pool()
    draw, top = dice.random, len(pool)
    average = sum(map(len, pool)) // top
    rows = [pool[int(draw() * top)] for _ in range(max(8, size // average))]
    tags = [long(256, _ROW * 8), long(257, len(rows)), short(258, 1), short(259, 32773), short(262, 1), short(277, 1)]
    return [*tags, long(278, len(rows))], b"".join(rows)


def _colour(dice: Dice, size: int) -> tuple[list[Entry], bytes]:
    data, height = jpeg.picture(dice, size)
    tags = [long(256, jpeg.WIDTH), long(257, height), short(258, 8, 8, 8), short(259, 7), short(262, 6), short(277, 3)]
    return [*tags, long(278, height), short(530, 1, 1)], data


def build(order: Order) -> Made:
    """As many pages as the bytes wanted need: a fax, a scanned letter, now and then a colour photograph."""
    dice = order.dice
    colour = order.size > 20_000 and dice.chance(0.3)
    page_bytes = _COLOUR_BYTES if colour else _PAGE_BYTES
    pages = max(1, min(200, order.size // page_bytes))
    when = f"20{dice.between(10, 23)}:{dice.between(1, 12):02d}:{dice.between(1, 28):02d} 09:{dice.below(60):02d}:00"
    pieces = [b"II*\0"]
    at = 8
    bodies: list[bytes] = []
    for page in range(pages):
        tags, data = (_colour if colour else _fax)(dice, order.size // pages - 300)
        data += b"\0" * (len(data) & 1)
        tags += [rational(282, (200, 1)), rational(283, (200, 1)), short(296, 2), short(297, page, pages)]
        tags += [text(305, "Edbench"), text(306, when), long(273, 0), long(279, len(data))]
        place = at + len(directory(tags, at))
        tags = [long(273, place) if tag[0] == 273 else tag for tag in tags]
        following = place + len(data) if page + 1 < pages else 0
        bodies += [directory(tags, at, following), data]
        at = place + len(data)
    pieces.append(struct.pack("<I", 8))
    return leaf(b"".join((*pieces, *bodies)), "image/tiff", pages=pages)
