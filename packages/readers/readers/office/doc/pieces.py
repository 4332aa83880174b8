"""Characters of a Word document by its piece table ([MS-DOC] 2.4.1), and those that are readable without one."""

from __future__ import annotations

import bisect
import itertools
import re
import struct
from collections.abc import Iterator, Sequence

from msgspec import Struct

from readers.charset import CodePage, Detected, least_certain, of_code_page
from readers.charset_labels import by_page
from readers.errors import DocumentError, corrupt, encrypted, truncated
from readers.fonts import FONT_CODECS

# The first block of a Word document ([MS-DOC] 2.5): the kind of the document and the location of its characters.

WORD_97 = 0xA5EC
WORD_6 = (0xA5DC, 0xA5DB, 0xA59B, 0xA59C, 0xA697, 0xA698, 0xA699)
_CCP = 0x4C  # FibRgLw97: characters of main text, footnotes, headers, macros, comments, endnotes, two kinds of box
_MACROS = 3  # index of the one that is no longer used
_CLX_97, _CLX_6 = 0x1A2, 0x160
_DRAWINGS, _OWNERS = 0x22A, 0x1BA  # FibRgFcLcb97.fcDggInfo, fcGrpXstAtnOwners
# Windows code pages by primary language, for Word 6 and 95, whose text is in the writer's code page.
_CODE_PAGES = {
    **dict.fromkeys((0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24), 1250),
    **dict.fromkeys((0x02, 0x19, 0x22, 0x23, 0x2F), 1251),
    0x08: 1253,
    0x1F: 1254,
    0x0D: 1255,
    0x01: 1256,
    0x11: 932,
    0x12: 949,
    0x1E: 874,
    **dict.fromkeys((0x25, 0x26, 0x27), 1257),
}


def two(data: bytes, at: int) -> int:
    """Return the number in two bytes."""
    return int.from_bytes(data[at : at + 2], "little")


def located(stream: bytes, place: int) -> tuple[int, int]:
    """Return offset and size of a structurefrom `place` in the first block; 0 and 0 if it is shorter."""
    return struct.unpack_from("<II", stream, place) if len(stream) >= place + 8 else (0, 0)


def sliced(table: bytes, stream: bytes, place: int) -> bytes:
    """Return the structure in a stream of tables whose location is at `place` in the first block."""
    at, size = located(stream, place)
    return table[at : at + size]


class Fib:
    """The file information block: the kind of the document and the location of its piece table."""

    def __init__(self, stream: bytes) -> None:
        """Read the block. Raises DocumentError if the document is encrypted or has no such block. A block of an unknown
        version is read as Word 97's and reported in `error`."""
        if len(stream) < 0x60:
            raise truncated("the document ends in its first block")
        magic, version, _, language, _, flags = struct.unpack_from("<HHHHHH", stream)
        self.error: DocumentError | None = None
        if magic != WORD_97 and magic not in WORD_6:
            self.error = corrupt("the document does not begin with a Word file's first block")
        if flags & 0x0100:
            raise encrypted("a password is needed to open it")
        self.old = magic in WORD_6 or (magic == WORD_97 and version < 105)
        self.complex, self.extended = bool(flags & 0x0004), bool(flags & 0x1000)
        self.tables = ("1Table", "0Table") if flags & 0x0200 else ("0Table", "1Table")  # the declared one first
        self.codec = "cp1252" if not self.old else by_page(_CODE_PAGES.get(language & 0x3FF, 1252))
        self.first, self.end = struct.unpack_from("<II", stream, 0x18)
        place = _CLX_6 if self.old else _CLX_97
        self.clx = located(stream, place)
        drawn = not self.old and len(stream) >= _DRAWINGS + 8
        self.drawings = struct.unpack_from("<II", stream, _DRAWINGS) if drawn else (0, 0)
        self.owners = struct.unpack_from("<II", stream, _OWNERS) if drawn else (0, 0)  # of comments
        counts = struct.unpack_from("<8I", stream, 0x34 if self.old else _CCP) if len(stream) >= 0x6C else ()
        self.counts = [n for n in counts if n < 0x7FFFFFFF]
        self.announced = sum(n for i, n in enumerate(counts) if i != _MACROS and n < 0x7FFFFFFF)


# Code pages of the characters of Word 6 and 95, by their fonts: the fonts' character sets (FFN),
# the font of the style Normal, and runs with a font of their own (CHPX). Source: "Microsoft Word 6.0 Binary File
# Format", including numbers and lengths of property modifiers.

_STYLES, _RUNS, _FONTS, _FIRST_PAGE, _PAGES = 0x60, 0xB8, 0xD0, 0x18A, 0x18E  # offsets of each in the first block
_PAGE = 512
_STANDARD_FONT = 14  # position in the style sheet, after its size
_FONT_HEAD = 6  # size, pitch, weight (two bytes), character set, position of its other name
_FONT, _VARIABLE = 93, -1
# Bytes of operands of modifiers of characters.
_LENGTHS = {
    **dict.fromkeys((65, 66, 67, 71, 75, *range(85, 93), 94, 98, 100, 102, 104, 117, 118), 1),
    **dict.fromkeys((69, 72, 80, _FONT, 96, 97, 99, 101, 107, 109, 110, 111, 112), 2),
    **dict.fromkeys((73, 95), 3),
    **dict.fromkeys((68, 74, 81, 82, 103, 105, 106, 108), _VARIABLE),
    70: 4,
    83: 0,
}
# Names of Windows 3.1, where the same character set may stand for any code page.
_NAMED = {
    b" cyr": "cp1251",
    b" ce": "cp1250",
    b" greek": "cp1253",
    b" tur": "cp1254",
    b" baltic": "cp1257",
    b"(hebrew)": "cp1255",
    b"(arabic)": "cp1256",
}
_NOBODYS = 2  # the character set of symbols


class Fonts:
    """Decoder of the bytes of a document by their position in its stream."""

    def __init__(self, stream: bytes, codec: str, text: slice) -> None:
        """Take the codec of the document's language, and `text`, the range that contains most of its characters."""
        fonts = list(_fonts(stream))
        if codec == "cp1252":
            normal = _font_of_normal(stream)
            codec = (fonts[normal] if normal is not None and normal < len(fonts) else "") or codec
        spans = [(a, b, fonts[font]) for a, b, font in _runs(stream) if font < len(fonts) and fonts[font]]
        self._spans = [span for span in spans if span[2] != codec]
        self._ends = [end for _, end, _ in self._spans]
        self._pages = {one: CodePage(one) for _, _, one in self._spans}
        rest = b"\n".join(raw for raw, own in self._parts(stream, text.start, text.stop) if not own)
        self._found = of_code_page(rest, codec)
        self.codec = self._found.charset

    @property
    def detected(self) -> Detected | None:
        """The least certain of the charsets that were detected; None if all were declared."""
        return least_certain([self._found, *(page.detected for page in self._pages.values())])

    def text(self, stream: bytes, at: int, end: int) -> str:
        """Return the characters between two positions."""
        parts = self._parts(stream, at, end)
        return "".join(self._pages[own].text(raw) if own else raw.decode(self.codec, "replace") for raw, own in parts)

    def _parts(self, stream: bytes, at: int, end: int) -> Iterator[tuple[bytes, str]]:
        """Yield pieces of one code page each; "" is the document's."""
        end = min(end, len(stream))
        number = bisect.bisect_right(self._ends, at)
        while at < end and number < len(self._spans) and self._spans[number][0] < end:
            begin, stop, own = self._spans[number]
            if begin > at:
                yield stream[at:begin], ""
            at, stop = max(at, begin), min(stop, end)
            yield stream[at:stop], own
            at, number = stop, number + 1
        if at < end:
            yield stream[at:end], ""


def _fonts(stream: bytes) -> Iterator[str]:
    """Yield the codec of each font, in order; "" if it is not declared."""
    table = sliced(stream, stream, _FONTS)
    at = 2
    while at + _FONT_HEAD < len(table):
        size = table[at] + 1
        charset = table[at + 4]
        name = table[at + _FONT_HEAD : at + size].split(b"\0", 1)[0].lower()
        by_name = next((codec for end, codec in _NAMED.items() if name.endswith(end)), "")
        yield by_name if charset <= _NOBODYS else FONT_CODECS.get(charset, "")
        at += size


def _font_of_normal(stream: bytes) -> int | None:
    """Return the number of the font of the style Normal, the first style; else that of the default font."""
    sheet = sliced(stream, stream, _STYLES)
    head, base = 2 + two(sheet, 0), two(sheet, 4)
    style = sheet[head + 2 : head + 2 + two(sheet, head)]
    if base < len(style):
        at = base + 1 + style[base] + 1  # after its name, which ends with a zero
        at += at & 1
        at += 2 + two(style, at)  # properties of paragraphs
        at += at & 1
        font = _font_in(style[at + 2 : at + 2 + two(style, at)])
        if font is not None:
            return font
    return two(sheet, _STANDARD_FONT) if len(sheet) >= _STANDARD_FONT + 2 else None


def _runs(stream: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (begin, end, font) of runs with a font of their own, in order, none within another."""
    reached = 0
    for number in _pages(stream):
        page = stream[number * _PAGE : (number + 1) * _PAGE]
        count = page[-1] if len(page) == _PAGE else 0
        if not count or 5 * count + 4 > _PAGE - 1:
            continue
        bounds = struct.unpack_from(f"<{count + 1}I", page)
        for i in range(count):
            begin, end, at = max(bounds[i], reached), bounds[i + 1], 2 * page[4 * (count + 1) + i]
            if at and begin < end <= len(stream):
                reached = end
                font = _font_in(page[at + 1 : at + 1 + page[at]])
                if font is not None:
                    yield begin, end, font


def _pages(stream: bytes) -> Iterator[int]:
    """Yield pages of 512 bytes with runs. Those that the table omits follow the last listed one without gaps."""
    table = sliced(stream, stream, _RUNS)
    count = max(0, (len(table) - 4) // 6)
    listed = struct.unpack_from(f"<{count}H", table, 4 * (count + 1)) if count else ()
    wanted = min(two(stream, _PAGES), len(stream) // _PAGE)
    after = listed[-1] + 1 if listed else two(stream, _FIRST_PAGE)
    yield from listed[: len(stream) // _PAGE + 1]
    yield from range(after, after + max(0, wanted - count))


def _font_in(modifiers: bytes) -> int | None:
    """Return the font that modifiers of characters set; None if they set none, or an unknown one precedes it."""
    at = 0
    while at < len(modifiers):
        length = _LENGTHS.get(modifiers[at])
        if length is None:
            return None
        if modifiers[at] == _FONT:
            return two(modifiers, at + 1)
        at += 2 + modifiers[at + 1] if length == _VARIABLE and at + 1 < len(modifiers) else 1 + max(length, 0)
    return None


_COMPRESSED = 0x40000000
_PIECES = 1_000_000
_TABLE_AT_ALL = re.compile(rb"\x02(?=(.{4})\0\0\0\0)", re.DOTALL)  # its size, and its start at character 0


class PieceTable(Struct, frozen=True):
    """Beginning of each piece in the text (and the end of the last), and its location."""

    bounds: tuple[int, ...]
    places: tuple[int, ...]  # fewer than the pieces if the table is cut short
    error: DocumentError | None = None  # damage of the table itself


def fonts_of(stream: bytes, fib: Fib) -> Fonts | None:
    """Return the fonts, which decide the code pages of a document of Word 6 or 95; later ones need none."""
    return Fonts(stream, fib.codec, slice(fib.first, fib.end)) if fib.old else None


def pieces(stream: bytes, tables: Sequence[bytes], fib: Fib, fonts: Fonts | None) -> Iterator[str]:
    """Yield the document's characters in order, piece by piece; `tables` are the streams that may contain its piece
    table, the declared one first. Raises DocumentError, after all readable pieces, if the table or a piece is outside
    the file, or the pieces do not add up to the document's count."""
    if fonts and not (fib.complex and fib.clx[1]):
        yield _run(stream, fib, fonts)
        if fib.end > len(stream):
            raise truncated("the text continues after the end of the file")
        return
    try:
        table = piece_table(tables, fib)
    except DocumentError:
        yield _run(stream, fib, fonts)
        raise
    yield from _by_table(stream, table, fib, fonts)


def _run(stream: bytes, fib: Fib, fonts: Fonts | None) -> str:
    """Return all text in one run, as the first block declares. Characters have two bytes if there are about twice as
    many bytes as it counts (far-eastern editions of Word 95, and documents of one UTF-16 piece)."""
    data = stream[fib.first : max(fib.first, fib.end)]
    size = len(data) if fonts else fib.end - fib.first  # the end of the text may be cut off
    if 2 * fib.announced <= size < 3 * fib.announced:
        return data[: 2 * fib.announced].decode("utf-16-le", "replace")
    return fonts.text(stream, fib.first, fib.end) if fonts else data.decode(fib.codec, "replace")


def _by_table(stream: bytes, table: PieceTable, fib: Fib, fonts: Fonts | None) -> Iterator[str]:
    error, units, wide = table.error, 0, not fib.old or (fib.extended and _apart_in_two_bytes(table))
    left = len(stream)  # a document's pieces do not overlap: together they are not longer than the stream
    for i, place in enumerate(table.places):
        count = table.bounds[i + 1] - table.bounds[i]
        if count < 0:
            error = error or corrupt("the pieces of the text are out of order")
        if count <= 0:
            continue
        units += count
        if not wide or (place & _COMPRESSED and not fib.old):
            at, size, codec = (place if fib.old else (place & ~_COMPRESSED) // 2), count, fib.codec
        else:
            at, size, codec = place, 2 * count, "utf-16-le"
        data = stream[at : at + min(size, max(left, 0))]
        left -= len(data)
        by_font = fonts if codec == fib.codec else None
        yield by_font.text(stream, at, at + len(data)) if by_font else data.decode(codec, "replace")
        if len(data) < size:
            error = error or truncated("a piece of the text is outside the file")
    if error is None and not fib.old and units < fib.announced:
        error = corrupt(f"its pieces have {units:,} characters, but the document states {fib.announced:,}")
    if error is not None:
        raise error


def _apart_in_two_bytes(table: PieceTable) -> bool:
    """Return whether pieces of Word 95 have room for two bytes a character, which is the only sign of their width."""
    sizes = (2 * (b - a) for a, b in itertools.pairwise(table.bounds))
    lie = sorted(zip(table.places, sizes, strict=False))
    return all(at + size <= after for (at, size), (after, _) in itertools.pairwise(lie))


def piece_table(tables: Sequence[bytes], fib: Fib) -> PieceTable:
    """Return the piece table at its declared location; else any with as many characters as the document counts. Raises
    DocumentError `corrupt` if there is none."""
    if tables and (table := _in_clx(tables[0], *fib.clx)) is not None:
        return table
    if not fib.old and fib.announced:
        for stream in tables:
            for place in _TABLE_AT_ALL.finditer(stream):
                size = int.from_bytes(place[1], "little")
                end = place.end() + 4 + size // 12 * 4  # end of its last bound
                if size % 12 == 4 and stream[end : end + 4] in (_word(fib.announced), _word(fib.announced + 1)):
                    error = corrupt("the piece table is not at the position given in the document")
                    return _read(stream[place.end() + 4 : place.end() + 4 + size], size // 12, error)
    raise corrupt("the document has no piece table")


def _word(number: int) -> bytes:
    return struct.pack("<I", min(number, 0xFFFFFFFF))


def _in_clx(stream: bytes, start: int, size: int) -> PieceTable | None:
    """Return the PlcPcd in a Clx, after the property modifiers before it (2.9.38). If its size does not fit, the table
    that gives pieces in order counts."""
    at, end = start, min(start + size, len(stream))
    while at + 5 <= end and stream[at] == 1:
        at += 3 + int.from_bytes(stream[at + 1 : at + 3], "little")
    if at + 5 > end or stream[at] != 2:
        return None
    announced, data = int.from_bytes(stream[at + 1 : at + 5], "little"), stream[at + 5 : end]
    if announced <= len(data):
        return _read(data[:announced], announced // 12) if announced >= 16 else None
    error = truncated("the piece table is cut short")
    for count in (announced // 12, (len(data) - 4) // 12):
        if count > 0 and 4 * (count + 1) + 8 <= len(data):
            table = _read(data, count, error)
            if all(a <= b for a, b in itertools.pairwise(table.bounds)):
                return table
    return None


def _read(data: bytes, count: int, error: DocumentError | None = None) -> PieceTable:
    """Return a table of `count` pieces, all of whose bounds are present."""
    count = min(count, (len(data) - 4) // 4)
    behind = 4 * (count + 1)
    there = min(count, (len(data) - behind) // 8, _PIECES)
    bounds = struct.unpack_from(f"<{count + 1}I", data)
    places = struct.unpack_from("<" + "2xI2x" * there, data, behind)
    return PieceTable(bounds, places, error)
