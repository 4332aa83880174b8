"""Pictures: JPEG (ITU-T T.81), TIFF 6.0, PNG, GIF89a, Windows bitmaps, lossless WebP (RFC 9649) and SVG 1.1.

No picture is compressed: JPEG's quantised coefficients are drawn and Huffman-coded (tables of Annex K.3) once a process
into a pool of rows. Each row is a restart interval, so any sequence of rows is a valid picture, made as fast as memory
can be copied and without any floating-point number. GIF and WebP have codes by which any bytes are pixels."""

from __future__ import annotations

import functools
import struct

from dataset_gen.formats.plain import RecordPool, make_pool
from dataset_gen.made import Made, Order, branch, leaf
from dataset_gen.material.text import prose
from dataset_gen.packing import crc32, zlib_stream
from dataset_gen.rng import Dice

Entry = tuple[int, int, int, bytes]  # tag, type, count, raw value


def text_tag(tag: int, value: str) -> Entry:
    """ASCII, NUL at its end."""
    raw = value.encode("ascii") + b"\0"
    return tag, 2, len(raw), raw


def short_tag(tag: int, *values: int) -> Entry:
    """16 bits each."""
    return tag, 3, len(values), struct.pack(f"<{len(values)}H", *values)


def long_tag(tag: int, *values: int) -> Entry:
    """32 bits each."""
    return tag, 4, len(values), struct.pack(f"<{len(values)}I", *values)


def rational_tag(tag: int, *values: tuple[int, int]) -> Entry:
    """Fractions."""
    return tag, 5, len(values), b"".join(struct.pack("<II", *value) for value in values)


def directory(entries: list[Entry], at: int, following: int = 0) -> bytes:
    """Return the directory at offset `at`, followed by its long values; `following` is the offset of the next
    directory."""
    entries = sorted(entries)
    place = at + 2 + 12 * len(entries) + 4
    head, tail = [struct.pack("<H", len(entries))], []
    for tag, kind, count, raw in entries:
        if len(raw) <= 4:
            value = raw.ljust(4, b"\0")
        else:
            value = struct.pack("<I", place)
            raw += b"\0" * (len(raw) & 1)  # values begin on even offsets
            tail.append(raw)
            place += len(raw)
        head.append(struct.pack("<HHI", tag, kind, count) + value)
    return b"".join((*head, struct.pack("<I", following), *tail))


_CAMERAS = (
    ("Canon", "Canon EOS 80D"), ("NIKON CORPORATION", "NIKON D750"), ("Apple", "iPhone 11 Pro"),
    ("samsung", "SM-G973F"), ("SONY", "ILCE-6400"), ("FUJIFILM", "X-T30"), ("Panasonic", "DMC-LX100"),
)  # fmt: skip
_PLACED = frozenset(("Apple", "samsung"))  # telephones know where they are
_ZONES = ("+00:00", "+01:00", "+02:00", "-05:00", "+09:00")


def _coordinate(dice: Dice, most: int, references: str) -> list[Entry]:
    reference = dice.pick(references)
    tag = 1 if reference in "NS" else 3
    value = (dice.below(most), 1), (dice.below(60), 1), (dice.below(6000), 100)
    return [text_tag(tag, reference), rational_tag(tag + 1, *value)]


def exif(dice: Dice, width: int, height: int) -> bytes:
    """Return an Exif block without the marker in front: a TIFF header and two or three directories."""
    make, model = dice.pick(_CAMERAS)
    when = f"20{dice.between(12, 23)}:{dice.between(1, 12):02d}:{dice.between(1, 28):02d} "
    when += f"{dice.below(24):02d}:{dice.below(60):02d}:{dice.below(60):02d}"
    shot: list[Entry] = [
        rational_tag(0x829A, (1, dice.pick((30, 60, 125, 250, 500)))),
        rational_tag(0x829D, (dice.pick((18, 24, 28, 40, 56, 80)), 10)),
        short_tag(0x8827, dice.pick((100, 200, 400, 800))),
        (0x9000, 7, 4, b"0231"),
        text_tag(0x9003, when),
        text_tag(0x9004, when),
        text_tag(0x9011, dice.pick(_ZONES)),
        rational_tag(0x920A, (dice.between(18, 200), 1)),
        long_tag(0xA002, width),
        long_tag(0xA003, height),
    ]
    place: list[Entry] = []
    if make in _PLACED or dice.chance(0.1):
        place = [(0, 1, 4, b"\2\3\0\0"), *_coordinate(dice, 60, "NS"), *_coordinate(dice, 170, "EW")]
    main: list[Entry] = [
        text_tag(0x010F, make),
        text_tag(0x0110, model),
        short_tag(0x0112, 1),
        text_tag(0x0131, "Edbench"),
        text_tag(0x0132, when),
        long_tag(0x8769, 0),
    ]
    if place:
        main.append(long_tag(0x8825, 0))
    return _assembled(main, shot, place)


def _assembled(main: list[Entry], shot: list[Entry], place: list[Entry]) -> bytes:
    """Return the directories one after the other, their offsets filled in."""
    shot_at = 8 + len(directory(main, 8))
    second = directory(shot, shot_at)
    place_at = shot_at + len(second)
    where = {0x8769: long_tag(0x8769, shot_at), 0x8825: long_tag(0x8825, place_at)}
    first = directory([where.get(entry[0], entry) for entry in main], 8)
    third = directory(place, place_at) if place else b""
    return b"".join((b"II*\0", struct.pack("<I", 8), first, second, third))


_JPEG_SEED = 20_250_103
_JPEG_ROWS = 192
_UNITS = 80  # 8 × 8 blocks a row in each component
JPEG_WIDTH = _UNITS * 8  # pixels
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
    """Return the bits, and their number, of one block whose DC differs by `step` from its neighbour's."""
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


def _jpeg_row(dice: Dice, dc: Codes, ac: Codes) -> bytes:
    """Return one restart interval: `_UNITS` units of three blocks, padded with ones, 0xFF stuffed."""
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
def _jpeg_rows() -> tuple[bytes, ...]:
    dice = Dice(_JPEG_SEED)
    dc, ac = _codes(_DC_COUNTS, _DC_VALUES), _codes(_AC_COUNTS, _AC_VALUES)
    return tuple(_jpeg_row(dice, dc, ac) for _ in range(_JPEG_ROWS))


def _segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


@functools.cache
def _tables() -> tuple[bytes, bytes]:
    """Return the segments before and after the frame header, the only segment that differs."""
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
    frame = struct.pack(">BHHB", 8, height, JPEG_WIDTH, 3) + b"\1\x11\0\2\x11\0\3\x11\0"
    return b"".join((b"\xff\xd8", marks, before, _segment(0xC0, frame), behind))


def picture(dice: Dice, size: int, marks: bytes = b"") -> tuple[bytes, int]:
    """Return a picture `WIDTH` pixels wide of about that many bytes, and its height; `marks` are segments of its
    head."""
    pool = _jpeg_rows()
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


def build_jpeg(order: Order) -> Made:
    """Build a picture 640 pixels wide, as high as the requested size needs; half of them have Exif, as from a
    camera."""
    dice = order.dice
    comment = _segment(0xFE, b"edbench %016x" % dice.below(1 << 62))
    if order.size > 3000 and dice.chance(0.5):
        # The standard wants Exif right behind the start of the image; its height is that of the sensor.
        head = _segment(0xE1, b"Exif\0\0" + exif(dice, JPEG_WIDTH, dice.pick((4000, 3024, 5304))))
    else:
        head = _segment(0xE0, b"JFIF\0\x01\x01\0\0\x48\0\x48\0\0")
    return leaf(picture(dice, order.size, head + comment)[0], "image/jpeg")


_FAX_SEED = 20_250_105
_FAX_ROWS = 400  # different rows in the pool
_FAX_ROW = 208  # bytes of a row: 1,664 pixels, A4 at 200 dots an inch
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
def _fax_rows() -> tuple[bytes, ...]:
    """Packed rows: a white margin on either side, words of noise and gaps between, every tenth row white."""
    dice = Dice(_FAX_SEED)
    rows = []
    for number in range(_FAX_ROWS):
        row = bytearray(b"\xff" * _FAX_ROW)
        at = 20
        while number % 10 and at < _FAX_ROW - 30:
            word = dice.between(2, 9)
            row[at : at + word] = dice.noise(word)
            at += word + dice.between(3, 9)
        rows.append(_packed(bytes(row)))
    return tuple(rows)


def _fax(dice: Dice, size: int) -> tuple[list[Entry], bytes]:
    """Return the tags of a page and its strip."""
    pool = _fax_rows()
    draw, top = dice.random, len(pool)
    average = sum(map(len, pool)) // top
    rows = [pool[int(draw() * top)] for _ in range(max(8, size // average))]
    return _tags(_FAX_ROW * 8, len(rows), (1,), 32773, 1), b"".join(rows)


def _colour(dice: Dice, size: int) -> tuple[list[Entry], bytes]:
    data, height = picture(dice, size)
    return [*_tags(JPEG_WIDTH, height, (8, 8, 8), 7, 6), short_tag(530, 1, 1)], data


def _tags(width: int, height: int, bits: tuple[int, ...], compression: int, photometric: int) -> list[Entry]:
    """Return the tags of a page of one strip."""
    return [
        long_tag(256, width),
        long_tag(257, height),
        short_tag(258, *bits),
        short_tag(259, compression),
        short_tag(262, photometric),
        short_tag(277, len(bits)),
        long_tag(278, height),
    ]


def build_tiff(order: Order) -> Made:
    """Build as many pages as the requested size needs: a fax, a scanned letter, now and then a colour photograph."""
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
        tags += [
            rational_tag(282, (200, 1)),
            rational_tag(283, (200, 1)),
            short_tag(296, 2),
            short_tag(297, page, pages),
        ]
        tags += [text_tag(305, "Edbench"), text_tag(306, when), long_tag(273, 0), long_tag(279, len(data))]
        place = at + len(directory(tags, at))
        tags = [long_tag(273, place) if tag[0] == 273 else tag for tag in tags]
        following = place + len(data) if page + 1 < pages else 0
        bodies += [directory(tags, at, following), data]
        at = place + len(data)
    pieces.append(struct.pack("<I", 8))
    return leaf(b"".join((*pieces, *bodies)), "image/tiff", pages=pages)


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_WIDTH = 256


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc32(name + data))


def build_png(order: Order) -> Made:
    """Rows of noise (which do not compress) among flat rows (which do), like a screenshot with a photo in it."""
    dice = order.dice
    noisy = max(1, (order.size - 200) // (_PNG_WIDTH * 3))
    rows = []
    for _ in range(noisy):
        rows.append(b"\0" + dice.noise(_PNG_WIDTH * 3))
        if dice.chance(0.5):
            rows.extend([b"\0" + bytes((dice.below(256), dice.below(256), dice.below(256))) * _PNG_WIDTH] * 2)
    pixels = b"".join(rows)
    header = struct.pack(">IIBBBBB", _PNG_WIDTH, len(rows), 8, 2, 0, 0, 0)
    data = b"".join((_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", zlib_stream(pixels)), _chunk(b"IEND", b"")))
    return branch(data, "image/png", own=(header, pixels))


_CLEAR, _END = b"\x80", b"\x81"
_RUN = 120  # pixels between two clear codes; at 126 the codes would grow to nine bits
_KEEP_SEVEN_BITS = bytes(i & 0x7F for i in range(256))


def build_gif(order: Order) -> Made:
    """Build a noisy picture with a palette of 128 colours."""
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


_BMP_WIDTH = 256
_BMP_ROW = _BMP_WIDTH * 3
_BMP_HEAD = 54
_BMP_BLOCK = 8  # rows drawn at a time


def build_bmp(order: Order) -> Made:
    """Build a screenshot: blocks of flat rows, and of noisy ones."""
    dice = order.dice
    height = max(1, (order.size - _BMP_HEAD) // _BMP_ROW)
    rows: list[bytes] = []
    for _ in range(0, height, _BMP_BLOCK):
        block = dice.noise(_BMP_ROW) if dice.chance(0.4) else dice.noise(3) * _BMP_WIDTH
        rows.append(block * _BMP_BLOCK)
    pixels = b"".join(rows)[: height * _BMP_ROW]
    head = b"BM" + struct.pack("<IHHI", _BMP_HEAD + len(pixels), 0, 0, _BMP_HEAD)
    info = struct.pack("<IiiHHIIiiII", 40, _BMP_WIDTH, height, 1, 24, 0, len(pixels), 3780, 3780, 0, 0)
    return leaf(head + info + pixels, "image/bmp")


_WEBP_WIDTH = 320
_WEBP_MOST = 16_000  # rows; the format has 16,384
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
def _webp_header(height: int) -> tuple[int, int]:
    """Return the bits that precede the pixels: their value as a number, and how many there are."""
    value = length = 0
    for part, bits in [(0x2F, 8), (_WEBP_WIDTH - 1, 14), (height - 1, 14), (0, 1), (0, 3), *_CODES]:
        value |= part << length
        length += bits
    return value, length


def build_webp(order: Order) -> Made:
    """Build a picture of noise, as wide as a preview."""
    height = max(1, min(_WEBP_MOST, (order.size - 80) // (_WEBP_WIDTH * 3)))
    value, length = _webp_header(height)
    noise = order.dice.noise(_WEBP_WIDTH * height * 3 + 1)
    spare = length % 8  # the first bits of the pixels share a byte with the last ones of the header
    head = bytearray(value.to_bytes(-(-length // 8), "little"))
    if spare:
        head[-1] |= noise[0] << spare & 0xFF
    picture = bytes(head) + noise[1:]
    picture += b"\0" * (len(picture) & 1)
    chunk = b"VP8L" + struct.pack("<I", len(picture)) + picture
    return leaf(b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk, "image/webp")


_SVG_BYTES = 200_000
_SHOWN = 15  # characters of text in a hundred of boxes


def _box(dice: Dice, words: str) -> str:
    x, y, width = dice.below(1800), dice.below(1200), dice.between(80, 300)
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="60" fill="#{dice.below(1 << 24):06x}" stroke="black"/>\n'
        f'<path d="M{x} {y + 60} L{dice.below(1800)} {dice.below(1200)}" stroke="#444444" fill="none"/>\n'
        f'<text x="{x + 8}" y="{y + 35}" font-size="14">{words}</text>\n'
    )


@functools.cache
def _svg_boxes() -> RecordPool:
    return make_pool("svg", _SVG_BYTES, lambda dice, _: _box(dice, prose().title(dice, 4)))


def build_svg(order: Order) -> Made:
    """Build a diagram; the terms are in the first boxes."""
    dice = order.dice
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2100 1300">\n'
        f"<title>{prose().title(dice, any_script=True)}</title>\n"
    )
    own = "".join(_box(dice, words) for words in (*(f"{term}." for term in order.terms), f"Box {dice.below(1 << 40)}"))
    start = (head + own).encode("utf-8")
    data = b"".join((start, *_svg_boxes().take(dice, order.size - len(start) - 8), b"</svg>\n"))
    return leaf(data, "image/svg+xml", characters=len(data) * _SHOWN // 100, terms=order.terms)
