"""Word documents of Word 97 to 2003 ([MS-DOC]): text in 8-bit and UTF-16 pieces, properties, pictures, packages."""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dataset_gen.formats import ole_package
from dataset_gen.made import Made, Order, branch, placed
from dataset_gen.material.text import LATIN, prose
from readers import cfb
from readers.records import Kind

# Positions in FibRgFcLcb97 (2.5.6).
STSHF, PLCF_SED, PLCF_BTE_CHPX, PLCF_BTE_PAPX, STTBF_FFN, DOP, CLX = 1, 6, 12, 13, 15, 31, 33
_PLACES = 93
_PARAGRAPHS_A_PAGE = 29  # (511 - 4) // (4 + 13)
_EXTENDED, _TABLE_1 = 0x1000, 0x0200
_LAST_FIXED = 15  # styles whose numbers are fixed


@dataclass(slots=True)
class TableStream:
    """The stream 1Table, filled one structure after the other; `places` are (offset, bytes) by position in the FIB."""

    raw: bytearray = field(default_factory=bytearray)
    places: dict[int, tuple[int, int]] = field(default_factory=dict)

    def put(self, position: int, data: bytes) -> None:
        """Add one structure, at an even offset."""
        self.raw.extend(bytes(len(self.raw) % 2))
        self.places[position] = (len(self.raw), len(data))
        self.raw += data


def information_block(
    places: Mapping[int, tuple[int, int]],
    *,
    text: tuple[int, int],
    size: int,
    characters: int,
    flags: int = 0,
    key: int = 0,
) -> bytes:
    """Return the file information block (2.5.1) of Word 97: `text` from and to, the stream's `size`, characters of the
    main text; `key` is lKey (bytes of the encryption header)."""
    base = struct.pack(
        "<HHHHHHHIBBHHII", 0xA5EC, 0x00C1, 0, 0x0409, 0, _TABLE_1 | _EXTENDED | flags, 0x00BF, key, 0, 0, 0, 0, *text
    )
    words = struct.pack("<H26xHH", 14, 0x0409, 22)
    longs = struct.pack("<III I 18I", size, 0, 0, characters, *([0] * 18))
    offsets = [number for position in range(_PLACES) for number in places.get(position, (0, 0))]
    return base + words + longs + struct.pack(f"<H{len(offsets)}IH", _PLACES, *offsets, 0)


def formatting_pages(
    start: int, ends: Sequence[int], pictures: Sequence[tuple[int, int]]
) -> tuple[list[bytes], list[int]]:
    """Default formatting for the characters and for each paragraph (2.9.33, 2.9.174): pages of 512 bytes, one of characters,
    then those of paragraphs, and the bounds of these in the file. `pictures` are (offset of its character in the file,
    its offset in the stream Data)."""
    raw = [_characters(start, ends[-1], pictures)]
    bounds = [start]
    for at in range(0, len(ends), _PARAGRAPHS_A_PAGE):
        some = [bounds[-1], *ends[at : at + _PARAGRAPHS_A_PAGE]]
        raw.append(struct.pack(f"<{len(some)}I", *some).ljust(511, b"\0") + bytes((len(some) - 1,)))
        bounds.append(some[-1])
    return raw, bounds


def _characters(start: int, end: int, pictures: Sequence[tuple[int, int]]) -> bytes:
    """Return a page of characters (2.9.33): default formatting, and each picture's (2.6.1)."""
    bounds, formats, stored = [start], [], b""
    for at, place in pictures:
        stored = struct.pack("<BHBHI", 9, 0x0855, 1, 0x6A03, place) + stored
        bounds += [at, at + 1]
        formats += [0, (510 - len(stored)) // 2]
    bounds.append(end)
    formats.append(0)
    head = struct.pack(f"<{len(bounds)}I{len(formats)}B", *bounds, *formats)
    return head.ljust(510 - len(stored), b"\0") + stored + bytes((0, len(formats)))


def piece_table(pieces: Sequence[tuple[int, int]]) -> bytes:
    """Return a Clx (2.9.38) of pieces: characters, FcCompressed."""
    bounds = [0]
    for count, _ in pieces:
        bounds.append(bounds[-1] + count)
    plc = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(struct.pack("<HIH", 0, fc, 0) for _, fc in pieces)
    return b"\2" + struct.pack("<I", len(plc)) + plc


@functools.cache
def stylesheet() -> bytes:
    """STSH (2.9.271): the paragraph style Normal and the default character style at their fixed numbers."""
    head = struct.pack("<HHHHHHHHHH", 18, _LAST_FIXED, 10, 1, 0x5B, 15, 0, 0, 0, 0)
    styles = [b""] * _LAST_FIXED
    styles[0] = _style(0, 1, "Normal", struct.pack("<HHH", 2, 0, 0))
    styles[10] = _style(65, 2, "Default Paragraph Font", struct.pack("<H", 0))
    return head + b"".join(struct.pack("<H", len(style)) + style for style in styles)


def _style(identifier: int, kind: int, name: str, formatting: bytes) -> bytes:
    """STD (2.9.260): kind 1 is of paragraphs, 2 of characters; `formatting` are its UPX."""
    title = struct.pack("<H", len(name)) + name.encode("utf-16-le") + b"\0\0"
    size = 10 + len(title) + len(formatting)
    base = struct.pack("<HHHHH", identifier, kind | 0xFFF0, 2 if kind == 1 else 1, size, 0)
    return base + title + formatting


@functools.cache
def fonts() -> bytes:
    """SttbfFfn (2.9.286) of one font."""
    name = "Times New Roman".encode("utf-16-le") + b"\0\0"
    font = struct.pack("<BHBB10s24s", 0x16, 400, 0, 0, bytes(10), bytes(24)) + name
    return struct.pack("<HHB", 1, 0, len(font)) + font


# Dop97 (2.7.4): nothing set but the distance of default tabs, half an inch.
_PROPERTIES = bytes(10) + struct.pack("<H", 720) + bytes(488)
JPEG, PNG = 5, 6  # types of pictures (2.4.1)
TYPES = {"jpg": JPEG, "png": PNG}
_BLIPS = {JPEG: (0xF01D, 0x46A), PNG: (0xF01E, 0x6E0)}  # record and instance (2.2.27, 2.2.28)


def atom(kind: int, data: bytes, instance: int = 0, version: int = 0) -> bytes:
    """Return a record that holds no others."""
    return struct.pack("<HHI", instance << 4 | version, kind, len(data)) + data


def container(kind: int, *parts: bytes, instance: int = 0) -> bytes:
    """Return a record of records."""
    return atom(kind, b"".join(parts), instance, 0xF)


def blip(kind: int, data: bytes) -> bytes:
    """Return a picture's record: its hash, a tag, the unchanged file."""
    record, instance = _BLIPS[kind]
    return atom(record, hashlib.md5(data).digest() + b"\xff" + data, instance)


def store_entry(kind: int, data: bytes, size: int, *, at: int = 0, inside: bytes = b"") -> bytes:
    """Return an entry of the picture store (2.2.32) for a record of `size` bytes, which is at `at` of another stream or
    `inside` the entry."""
    head = struct.pack("<BB16sHIIIBBBB", kind, kind, hashlib.md5(data).digest(), 0xFF, size, 1, at, 0, 0, 0, 0)
    return atom(0xF007, head + inside, kind, 2)


def inline_picture(kind: int, data: bytes, number: int) -> bytes:
    """Return a picture in a line of a Word document ([MS-DOC] 2.9.192): its frame, then an entry that holds the
    picture."""
    shape = container(
        0xF004,
        atom(0xF00A, struct.pack("<II", 1024 + number, 0x0A00), 75, 2),
        atom(0xF00B, struct.pack("<HI", 0x4104, 1), 1, 3),
    )
    record = blip(kind, data)
    drawing = shape + store_entry(kind, data, len(record), inside=record)
    measures = struct.pack("<hhHH", 4000, 3000, 1000, 1000)  # in twentieths of a point; scales in thousandths
    head = struct.pack("<IHhhhH14s8s30s", 68 + len(drawing), 68, 0x64, 0, 0, 0, bytes(14), measures, bytes(30))
    return head + bytes(2) + drawing


MEDIA_TYPE = "application/msword"
CLASS = bytes.fromhex("0609020000000000c000000000000046")  # {00020906-0000-0000-C000-000000000046}
_FIXED = 11_000  # bytes of a document of one line
_TEXT_MOST = 60_000  # a bigger document is one with pictures
_PICTURE = 150_000  # bytes of one, about
_MOST_PICTURES = 20  # space of one page of formatting
_PACKAGE_SHARE = 0.1  # of the documents that are big enough
_PACKAGE = 40_000
_PACKED = ("pdf", "txt", "jpg", "csv")
_TEXT_AT = 0x600
_SHORTEST = 4096  # a stream that is shorter is in the mini sectors, where old readers do not look for a document
_OBJECT = "\x13 EMBED Package \x14\x01\x15\r"


@dataclass(slots=True)
class Text:
    """Characters of a document as pieces; `ends` are the file offsets at which its paragraphs end, `pictures` those of
    characters that represent pictures, with the place of each in the stream Data."""

    raw: bytearray = field(default_factory=bytearray)
    pictures: list[tuple[int, int]] = field(default_factory=list)
    pieces: list[tuple[int, int]] = field(default_factory=list)  # characters, FcCompressed
    ends: list[int] = field(default_factory=list)

    @property
    def end(self) -> int:
        return _TEXT_AT + len(self.raw)

    @property
    def characters(self) -> int:
        return sum(count for count, _ in self.pieces)

    def add(self, paragraphs: list[str], *, wide: bool) -> None:
        """Add one piece: 8-bit characters (2.9.73) or UTF-16. It begins on a page of 512 bytes: some readers merge
        adjacent pieces of different width."""
        self.raw.extend(bytes(-self.end % 512))
        start, width = self.end, 2 if wide else 1
        text = "".join([f"{paragraph}\r" for paragraph in paragraphs])
        self.raw += text.encode("utf-16-le" if wide else "latin-1")
        self.pieces.append((len(self.raw) - (start - _TEXT_AT) >> wide, start if wide else 0x40000000 | start * 2))
        for paragraph in paragraphs:
            start += (len(paragraph) + 1) * width
            self.ends.append(start)
        if wide and start != self.end:  # characters outside the basic plane take two units
            raise ValueError("a paragraph holds characters of more than one UTF-16 unit")


def streams(text: Text, *, header: bytes = b"", flags: int = 0) -> tuple[bytes, bytes]:
    """Return the streams WordDocument and 1Table; `header` goes in front of the tables (encryption, 2.2.6)."""
    table = TableStream(bytearray(header))
    pages, starts = formatting_pages(_TEXT_AT, text.ends, text.pictures)
    first_page = -(-text.end // 512)
    document = b"".join((bytes(_TEXT_AT), text.raw, bytes(first_page * 512 - text.end), *pages))
    table.put(STSHF, stylesheet())
    table.put(PLCF_SED, struct.pack("<IIHIHI", 0, text.characters, 0, 0xFFFFFFFF, 0, 0))
    table.put(PLCF_BTE_CHPX, struct.pack("<III", _TEXT_AT, text.end, first_page))
    numbers = range(first_page + 1, first_page + len(pages))
    table.put(PLCF_BTE_PAPX, struct.pack(f"<{len(starts) + len(numbers)}I", *starts, *numbers))
    table.put(STTBF_FFN, fonts())
    table.put(DOP, _PROPERTIES)
    table.put(CLX, piece_table(text.pieces))
    bounds = (_TEXT_AT, text.end)
    size, count = max(len(document), _SHORTEST), text.characters
    fib = information_block(table.places, text=bounds, size=size, characters=count, flags=flags, key=len(header))
    return (fib + document[len(fib) :]).ljust(_SHORTEST, b"\0"), bytes(table.raw).ljust(_SHORTEST, b"\0")


def build(order: Order) -> Made:
    """Build a title and paragraphs, some in 8-bit, some in UTF-16 pieces; big documents have pictures, a few a
    package."""
    dice = order.dice
    room = max(400, order.size - _FIXED)
    carried: list[cfb.Storage] = []
    children: list[tuple[str, Made]] = []
    if room > 12_000 and dice.chance(_PACKAGE_SHARE):
        room -= _package(order, min(room // 3, _PACKAGE), carried, children)
    wide = dice.chance(0.25)
    characters = min(room, int(_TEXT_MOST * (0.3 + dice.random())))
    if wide or dice.language not in LATIN:
        characters = characters * 3 // 5  # most of them take two bytes
    title = prose().title(dice)
    first = [title, *(f"{term}." for term in order.terms)]
    rest = prose().paragraphs(dice, characters, accented=True, any_script=True)
    text = _text(first, rest, len(children), wide=wide)
    data = _pictures(order, room - len(text.raw), text, children)
    main, table = streams(text)
    own = {"WordDocument": main, "1Table": table, **ole_package.summary(dice, title, "Microsoft Office Word")}
    own["\x01CompObj"] = ole_package.comp_obj(CLASS, "Microsoft Word-Document", "Word.Document.8")
    whole = own | ({"Data": data} if data else {})
    pool = [cfb.Storage("ObjectPool", storages=carried)] if carried else []
    file = cfb.write(cfb.Storage(clsid=CLASS, streams=whole, storages=pool))
    return branch(
        file, MEDIA_TYPE, own=own.values(), children=placed(Kind.EMBEDDED_OBJECT, children), terms=order.terms
    )


def _text(first: list[str], rest: list[str], packages: int, *, wide: bool) -> Text:
    """Divide the text into pieces of one width: 8-bit as far as the characters allow, unless UTF-16 is requested."""
    text = Text()
    text.add(first, wide=False)
    wide = wide or not _narrow("".join(rest))
    half = len(rest) // 2
    if wide and half and _narrow("".join(rest[:half])):
        text.add(rest[:half], wide=False)
        rest = rest[half:]
    text.add(rest, wide=wide)
    if packages:
        text.add([_OBJECT[:-1]] * packages, wide=False)
    return text


def _narrow(text: str) -> bool:
    """Return whether every character is one byte in a piece of 8-bit text."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _package(order: Order, size: int, storages: list[cfb.Storage], children: list[tuple[str, Made]]) -> int:
    """Add an embedded file of about so many bytes; return its bytes."""
    fmt = order.dice.pick(_PACKED)
    made = order.child(fmt, 900, size)
    name = f"{prose().title(order.dice, 2)}.{fmt}"
    storages.append(ole_package.storage(name, made.data, f"_{1_100_000_000 + len(storages)}"))
    children.append((name, made))
    return len(made.data)


def _pictures(order: Order, size: int, text: Text, children: list[tuple[str, Made]]) -> bytes:
    """Return the stream Data: pictures of about so many bytes in all, each a paragraph at the end of the text."""
    count = min(_MOST_PICTURES, 1 + size // _PICTURE) if size > 3_000 else 0
    pieces, place = [], 0
    if count:
        text.add(["\x01"] * count, wide=False)
    for number in range(count):
        fmt = "png" if order.dice.chance(0.2) else "jpg"
        made = order.child(fmt, number, size // count)
        text.pictures.append((text.end - 2 * (count - number), place))
        pieces.append(inline_picture(TYPES[fmt], made.data, number))
        place += len(pieces[-1])
        children.append((f"picture{number + 1}.{fmt}", made))
    return b"".join(pieces)
