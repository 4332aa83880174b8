"""JPEG pictures: baseline, three components, one restart interval a row (ITU-T T.81).

No picture is transformed: quantised coefficients are drawn by chance and Huffman-coded (tables of Annex K.3)
once a process into a pool of rows. Each row is a restart interval, so any sequence of rows is a valid picture,
made as fast as memory can be copied and without any floating-point number.
"""

from __future__ import annotations

import functools
import struct

from dataset_gen.formats.images.tiff_tags import Entry, directory, long, rational, short, text
from dataset_gen.made import Made, Order, leaf
from dataset_gen.rng import Dice

_CAMERAS = (
    ("Canon", "Canon EOS 80D"), ("NIKON CORPORATION", "NIKON D750"), ("Apple", "iPhone 11 Pro"),
    ("samsung", "SM-G973F"), ("SONY", "ILCE-6400"), ("FUJIFILM", "X-T30"), ("Panasonic", "DMC-LX100"),
)  # fmt: skip
_PLACED = frozenset(("Apple", "samsung"))  # telephones know where they are
_ZONES = ("+00:00", "+01:00", "+02:00", "-05:00", "+09:00")


@functools.cache
def _degrees(reference: str) -> tuple[int, bytes]:
    """The tag of the reference and its letter."""
    return (1 if reference in "NS" else 3), reference.encode() + b"\0"


def _coordinate(dice: Dice, most: int, references: str) -> list[Entry]:
    tag, letter = _degrees(dice.pick(references))
    value = (dice.below(most), 1), (dice.below(60), 1), (dice.below(6000), 100)
    return [(tag, 2, 2, letter), rational(tag + 1, *value)]


def block(dice: Dice, width: int, height: int) -> bytes:
    """An Exif block without the marker in front: a TIFF header and two or three directories."""
    make, model = dice.pick(_CAMERAS)
    when = f"20{dice.between(12, 23)}:{dice.between(1, 12):02d}:{dice.between(1, 28):02d} "
    when += f"{dice.below(24):02d}:{dice.below(60):02d}:{dice.below(60):02d}"
    shot: list[Entry] = [
        rational(0x829A, (1, dice.pick((30, 60, 125, 250, 500)))),
        rational(0x829D, (dice.pick((18, 24, 28, 40, 56, 80)), 10)),
        short(0x8827, dice.pick((100, 200, 400, 800))),
        (0x9000, 7, 4, b"0231"),
        text(0x9003, when),
        text(0x9004, when),
        text(0x9011, dice.pick(_ZONES)),
        rational(0x920A, (dice.between(18, 200), 1)),
        long(0xA002, width),
        long(0xA003, height),
    ]
    place: list[Entry] = []
    if make in _PLACED or dice.chance(0.1):
        place = [(0, 1, 4, b"\2\3\0\0"), *_coordinate(dice, 60, "NS"), *_coordinate(dice, 170, "EW")]
    main: list[Entry] = [
        text(0x010F, make),
        text(0x0110, model),
        short(0x0112, 1),
        text(0x0131, "Edbench"),
        text(0x0132, when),
        long(0x8769, 0),
    ]
    if place:
        main.append(long(0x8825, 0))
    return _assembled(main, shot, place)


def _assembled(main: list[Entry], shot: list[Entry], place: list[Entry]) -> bytes:
    """The directories one after the other, their offsets filled in."""
    shot_at = 8 + len(directory(main, 8))
    second = directory(shot, shot_at)
    place_at = shot_at + len(second)
    where = {0x8769: long(0x8769, shot_at), 0x8825: long(0x8825, place_at)}
    first = directory([where.get(entry[0], entry) for entry in main], 8)
    third = directory(place, place_at) if place else b""
    return b"".join((b"II*\0", struct.pack("<I", 8), first, second, third))


_POOL_SEED = 20_250_103
_ROWS = 192
_UNITS = 80  # 8 × 8 blocks a row in each component
WIDTH = _UNITS * 8  # pixels
_RESTARTS = tuple(bytes((0xFF, 0xD0 + n)) for n in range(8))
_DC_COUNTS = bytes((0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0))
_DC_VALUES = bytes(range(12))
# A short table for the few (run, size) pairs that are drawn; the last code of all ones stays unused.
_AC_VALUES = bytes((0x01, 0x02, 0x00, 0x03, 0x11, 0x04, 0x12, 0x21, 0x31, 0x05, 0x13, 0x22, 0x41, 0x51, 0x61, 0xF0))
_AC_COUNTS = bytes((0, 2, 1, 2, 3, 3, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0))
_PAIRS = tuple(v for v in _AC_VALUES if v not in (0x00, 0xF0))

Codes = dict[int, tuple[int, int]]


def _codes(counts: bytes, values: bytes) -> Codes:
    """Symbol → (code, bits), T.81 Annex C."""
    out: Codes = {}
    code = position = 0
    for length, count in enumerate(counts, start=1):
        for _ in range(count):
            out[values[position]] = (code, length)
            code += 1
            position += 1
        code <<= 1
    return out


def _block(dice: Dice, dc: Codes, ac: Codes, step: int, pairs: int) -> tuple[int, int]:
    """Bits, and how many, of one block whose DC differs by `step` from its neighbour's."""
    size = abs(step).bit_length()
    bits, length = dc[size]
    if size:
        bits, length = bits << size | (step if step > 0 else step + (1 << size) - 1), length + size
    position = 0
    for _ in range(pairs):
        pair = dice.pick(_PAIRS)
        run, extra = pair >> 4, pair & 15
        position += run + 1
        if position > 62:
            break
        code, count = ac[pair]
        bits = (bits << count | code) << extra | dice.below(1 << extra)
        length += count + extra
    code, count = ac[0]
    return bits << count | code, length + count


def _row(dice: Dice, dc: Codes, ac: Codes) -> bytes:
    """One restart interval: `_UNITS` units of three blocks, padded with ones, 0xFF stuffed."""
    bits = length = 0
    level = 0
    for _ in range(_UNITS):
        step = max(-60, min(60, dice.between(-24, 24) - level // 4))
        level += step
        for component in range(3):
            pairs = dice.between(8, 40) if component == 0 else dice.between(0, 8)
            value, count = _block(dice, dc, ac, step if component == 0 else 0, pairs)
            bits = (bits << count) | value
            length += count
    pad = -length % 8
    bits = (bits << pad) | ((1 << pad) - 1)
    return bits.to_bytes((length + pad) // 8, "big").replace(b"\xff", b"\xff\0")


@functools.cache
def _pool() -> tuple[bytes, ...]:
    dice = Dice(_POOL_SEED)
    dc, ac = _codes(_DC_COUNTS, _DC_VALUES), _codes(_AC_COUNTS, _AC_VALUES)
    return tuple(_row(dice, dc, ac) for _ in range(_ROWS))


def _segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


@functools.cache
def _tables() -> tuple[bytes, bytes]:
    """The segments before and behind the frame header, which is the only one that differs."""
    return (
        _segment(0xDB, b"\0" + bytes([3] + [8] * 63)),
        b"".join(
            (
                _segment(0xC4, b"\0" + _DC_COUNTS + _DC_VALUES),
                _segment(0xC4, b"\x10" + _AC_COUNTS + _AC_VALUES),
                _segment(0xDD, struct.pack(">H", _UNITS)),
                _segment(0xDA, b"\x03\x01\0\x02\0\x03\0\0\x3f\0"),
            )
        ),
    )


def _headers(height: int, marks: bytes) -> bytes:
    """Everything before the rows; `marks` are application and comment segments."""
    before, behind = _tables()
    frame = struct.pack(">BHHB", 8, height, WIDTH, 3) + b"\1\x11\0\2\x11\0\3\x11\0"
    return b"".join((b"\xff\xd8", marks, before, _segment(0xC0, frame), behind))


def picture(dice: Dice, size: int, marks: bytes = b"") -> tuple[bytes, int]:
    """A picture `WIDTH` pixels wide of about that many bytes, and its height; `marks` are segments of its head."""
    pool = _pool()
    top = len(pool)
    parts: list[bytes] = []
    left = size - 300 - len(marks)
    draw = dice.random
    while (left > 0 or not parts) and len(parts) < 8000:
        row = pool[int(draw() * top)]
        parts.append(row)
        left -= len(row) + 2
    marked = [parts[0]]
    for number, row in enumerate(parts[1:]):
        marked.append(_RESTARTS[number % 8])
        marked.append(row)
    height = len(parts) * 8
    return b"".join((_headers(height, marks), *marked, b"\xff\xd9")), height


def build(order: Order) -> Made:
    """A picture 640 pixels wide and as high as the bytes wanted need; half of them as a camera leaves them, with Exif."""
    dice = order.dice
    comment = _segment(0xFE, b"edbench %016x" % dice.below(1 << 62))
    if order.size > 3000 and dice.chance(0.5):
        # The standard wants Exif right behind the start of the image; its height is that of the sensor.
        head = _segment(0xE1, b"Exif\0\0" + block(dice, WIDTH, dice.pick((4000, 3024, 5304))))
    else:
        head = _segment(0xE0, b"JFIF\0\x01\x01\0\0\x48\0\x48\0\0")
    return leaf(picture(dice, order.size, head + comment)[0], "image/jpeg")
