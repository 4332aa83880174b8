"""Small files of the older Office formats, put together record by record for tests."""

import struct
from collections.abc import Iterable, Mapping, Sequence

from readers.cfb import Storage, write


def word(
    pieces: Sequence[str],
    *,
    counts: Sequence[int] = (),
    flags: int = 0,
    storages: Iterable[Storage] = (),
    streams: Mapping[str, bytes] | None = None,
    drawings: bytes = b"",
    owners: bytes = b"",
) -> bytes:
    """A Word document of these pieces, by turns in 8-bit characters and UTF-16; `counts` are the stories' lengths, `drawings` what
    is drawn above them, `owners` who commented."""
    raw, bounds, places = bytearray(), [0], []
    for number, piece in enumerate(pieces):
        start = 0x400 + len(raw)
        wide = number % 2 == 1
        raw += piece.encode("utf-16-le" if wide else "cp1252")
        places.append(struct.pack("<HIH", 0, start if wide else 0x40000000 | start * 2, 0))
        bounds.append(bounds[-1] + len(piece))
    plc = struct.pack(f"<{len(bounds)}I", *bounds) + b"".join(places)
    clx = b"\x01\x02\x00ab" + b"\x02" + struct.pack("<I", len(plc)) + plc
    fib = bytearray(0x400)
    struct.pack_into("<HHHHHH", fib, 0, 0xA5EC, 0xC1, 0, 0x409, 0, 0x1200 | flags)
    struct.pack_into("<II", fib, 0x18, 0x400, 0x400 + len(raw))
    struct.pack_into("<8I", fib, 0x4C, *[*(counts or [bounds[-1]]), *[0] * 8][:8])
    struct.pack_into("<II", fib, 0x1A2, 7, len(clx))
    struct.pack_into("<II", fib, 0x22A, 7 + len(clx), len(drawings))
    struct.pack_into("<II", fib, 0x1BA, 7 + len(clx) + len(drawings), len(owners))
    own = {"WordDocument": bytes(fib + raw), "1Table": b"padding" + clx + drawings + owners, **(streams or {})}
    return write(Storage(streams=own, storages=list(storages)))


def word_6(
    text: bytes, *, language: int = 0x409, characters: int | None = None, flags: int = 0, clx: tuple[int, int] = (0, 0)
) -> bytes:
    """A document of Word 6, its text in one run of bytes; it counts that many characters, its pieces are at `clx`."""
    fib = bytearray(0x300)
    struct.pack_into("<HHHHHH", fib, 0, 0xA5DC, 101, 0, language, 0, flags)
    struct.pack_into("<II", fib, 0x18, 0x300, 0x300 + len(text))
    struct.pack_into("<II", fib, 0x160, *clx)
    struct.pack_into("<I", fib, 0x34, len(text) if characters is None else characters)
    return write(Storage(streams={"WordDocument": bytes(fib) + text}))


def word_6_in_fonts(
    runs: Sequence[tuple[str, str, int | None]],
    fonts: Sequence[tuple[bytes, int]],
    *,
    normal: int,
    language: int = 0x409,
    damaged: int = 0,
) -> bytes:
    """A document of Word 6 of runs (text, codec, number of its own font) in these fonts (name, character set); `normal`
    is the one of the style Normal. What the first block says of its table at `damaged` is nonsense."""
    stream = bytearray(0x400)
    bounds, modifiers = [len(stream)], []
    for text, codec, font in runs:
        stream += text.encode(codec)
        bounds.append(len(stream))
        modifiers.append(b"" if font is None else b"\x55\x01\x5d" + struct.pack("<H", font))
    struct.pack_into("<HHHHHH", stream, 0, 0xA5DC, 101, 0, language, 0, 0)
    struct.pack_into("<II", stream, 0x18, bounds[0], bounds[-1])
    struct.pack_into("<I", stream, 0x34, bounds[-1] - bounds[0])
    stream += bytes(-len(stream) % 512)
    number, page, at = len(stream) // 512, bytearray(512), 510
    struct.pack_into(f"<{len(bounds)}I", page, 0, *bounds)
    for i, own in enumerate(modifiers):
        if own:
            at = (at - len(own) - 1) & ~1
            page[at : at + 1 + len(own)] = bytes((len(own),)) + own
            page[4 * len(bounds) + i] = at // 2
    page[511] = len(runs)
    stream += page
    style = struct.pack("<HHHH", 0, 1, 2, 0) + b"\x06Normal\0" + struct.pack("<HH", 2, 0)
    style += struct.pack("<H", 3) + b"\x5d" + struct.pack("<H", normal) + b"\0"
    sheet = struct.pack("<HHHHHHHH", 14, 1, 8, 0, 0, 0, 0, 0) + struct.pack("<H", len(style)) + style
    names = b"".join(struct.pack("<BBHBB", 6 + len(name), 0, 400, chs, 0) + name + b"\0" for name, chs in fonts)
    tables = {
        0x60: sheet,
        0xB8: struct.pack("<IIH", bounds[0], bounds[-1], number),
        0xD0: struct.pack("<H", 2 + len(names)) + names,
    }
    for place, table in tables.items():
        struct.pack_into("<II", stream, place, 0xFFFF if place == damaged else len(stream), len(table))
        stream += table
    return write(Storage(streams={"WordDocument": bytes(stream)}))


def packager(name: bytes, data: bytes, *, wide: str = "", size: int | None = None) -> bytes:
    """A stream `\\1Ole10Native`; `size` overstates the file's."""
    body = b"\2\0" + name + b"\0C:\\" + name + b"\0\0\0\3\0" + struct.pack("<I", 5) + b"C:\\t\0"
    body += struct.pack("<I", len(data) if size is None else size) + data
    for text in ("C:\\t", wide, "C:\\w") if wide else ():
        body += struct.pack("<I", len(text)) + text.encode("utf-16-le")
    return struct.pack("<I", len(body)) + body


def wide(text: str) -> bytes:
    """XLUnicodeString."""
    return struct.pack("<HB", len(text), 1) + text.encode("utf-16-le")


def biff(*records: tuple[int, bytes]) -> bytes:
    """A workbook's stream of these records."""
    return b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in records)


def begin(kind: int = 0x10, version: int = 0x600) -> tuple[int, bytes]:
    """BOF of a sheet (0x10) or of the globals (5)."""
    return 0x809, struct.pack("<HHHHII", version, kind, 0, 0, 0, 6)


END = (0x0A, b"")


def sheet(offset: int, name: str, hidden: int = 0, *, old: bool = False) -> tuple[int, bytes]:
    """BOUNDSHEET."""
    raw = name.encode("latin-1")
    return 0x85, struct.pack("<IBBB", offset, hidden, 0, len(raw)) + (b"" if old else b"\0") + raw


def workbook(stream: bytes, name: str = "Workbook", storages: Iterable[Storage] = ()) -> bytes:
    """A workbook around its stream."""
    return write(Storage(streams={name: stream}, storages=list(storages)))


def record(kind: int, data: bytes, instance: int = 0, version: int = 0) -> bytes:
    """A record of a presentation."""
    return struct.pack("<HHI", instance << 4 | version, kind, len(data)) + data


def holding(kind: int, *parts: bytes, instance: int = 0) -> bytes:
    """A record of records."""
    return record(kind, b"".join(parts), instance, 15)


def lettered(text: str, *before: tuple[int, bytes]) -> bytes:
    """A shape's properties ([MS-ODRAW] 2.2.9, 2.3.22.1): long ones, the letters, a short one behind them."""
    long = [*((kind | 0x8000, data) for kind, data in before), (0xC0 | 0x8000, (text + "\0").encode("utf-16-le"))]
    table = b"".join(struct.pack("<HI", kind, len(data)) for kind, data in long) + struct.pack("<HI", 0xC2, 0x240000)
    return record(0xF00B, table + b"".join(data for _, data in long), len(long) + 1, 3)


def property_section(*numbered: tuple[int, bytes], page: int = 1252) -> bytes:
    """A section of a property set ([MS-OLEPS]): raw values by their numbers, the code page behind number 0."""
    first = [one for one in numbered if one[0] == 0]
    entries = [*first, (1, struct.pack("<IHH", 2, page, 0)), *(one for one in numbered if one[0])]
    at, places, data = 8 + 8 * len(entries), b"", b""
    for number, raw in entries:
        places += struct.pack("<II", number, at + len(data))
        data += raw + bytes(-len(raw) % 4)
    return struct.pack("<II", at + len(data), len(entries)) + places + data


def chars(text: str) -> bytes:
    """TextCharsAtom."""
    return record(0xFA0, text.encode("utf-16-le"))


def string(text: str, instance: int = 0) -> bytes:
    """CString."""
    return record(0xFBA, text.encode("utf-16-le"), instance)


def persist(number: int) -> bytes:
    """SlidePersistAtom."""
    return record(0x3F3, struct.pack("<IIIII", number, 0, 0, 0, 0))


def powerpoint(*edits: Mapping[int, bytes], token: int = 0xE391C05F, **streams: bytes) -> bytes:
    """A presentation saved several times: objects by persist number; number 1 is the document."""
    out, last = bytearray(), 0
    for edit in edits:
        entries = b""
        for number, data in edit.items():
            entries += struct.pack("<II", 1 << 20 | number, len(out))
            out += data
        directory = len(out)
        out += record(0x1772, entries)
        edited = len(out)
        out += record(0xFF5, struct.pack("<IHBBIIIIHH", 0, 0, 0, 3, last, directory, 1, 99, 1, 0))
        last = edited
    user = record(0xFF6, struct.pack("<IIIHHBBH", 20, token, last, 0, 0x3F4, 3, 0, 0))
    return write(Storage(streams={"PowerPoint Document": bytes(out), "Current User": user, **streams}))
