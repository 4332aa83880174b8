"""Which code page the characters of Word 6 and 95 are in, by the fonts they are set in: what the fonts are for (FFN), the
font of the style Normal, and runs that have a font of their own (CHPX). Source: "Microsoft Word 6.0 Binary File Format";
numbers and lengths of property modifiers as its table of them has them."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Iterator

from readers.charset import CodePage, Detected, least_certain, of_code_page
from readers.fonts import FONT_CODECS

_STYLES, _RUNS, _FONTS, _FIRST_PAGE, _PAGES = 0x60, 0xB8, 0xD0, 0x18A, 0x18E  # offsets of each in the first block
_PAGE = 512
_STANDARD_FONT = 14  # in the style sheet, behind its size
_FONT_HEAD = 6  # size, pitch, weight (two bytes), character set, where its other name is
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
    """Decodes the bytes of a document by their position in its stream."""

    def __init__(self, stream: bytes, codec: str, text: slice) -> None:
        """`codec` is that of the document's language, `text` the range that holds most of its characters."""
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
        """The least certain of the charsets that were detected; None where all were declared."""
        return least_certain([self._found, *(page.detected for page in self._pages.values())])

    def text(self, stream: bytes, at: int, end: int) -> str:
        """The characters between two places."""
        parts = self._parts(stream, at, end)
        return "".join(self._pages[own].text(raw) if own else raw.decode(self.codec, "replace") for raw, own in parts)

    def _parts(self, stream: bytes, at: int, end: int) -> Iterator[tuple[bytes, str]]:
        """Pieces of one code page each; "" stands for the document's."""
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


def _two(stream: bytes, at: int) -> int:
    return int.from_bytes(stream[at : at + 2], "little")


def _told(stream: bytes, place: int) -> bytes:
    """Return the structure whose offset and size are at `place` in the first block."""
    at, size = struct.unpack_from("<II", stream, place) if len(stream) >= place + 8 else (0, 0)
    return stream[at : at + size]


def _fonts(stream: bytes) -> Iterator[str]:
    """The codec of each font, in order; "" where it is not declared."""
    table = _told(stream, _FONTS)
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
    sheet = _told(stream, _STYLES)
    head, base = 2 + _two(sheet, 0), _two(sheet, 4)
    style = sheet[head + 2 : head + 2 + _two(sheet, head)]
    if base < len(style):
        at = base + 1 + style[base] + 1  # behind its name, which ends with a zero
        at += at & 1
        at += 2 + _two(style, at)  # properties of paragraphs
        at += at & 1
        font = _font_in(style[at + 2 : at + 2 + _two(style, at)])
        if font is not None:
            return font
    return _two(sheet, _STANDARD_FONT) if len(sheet) >= _STANDARD_FONT + 2 else None


def _runs(stream: bytes) -> Iterator[tuple[int, int, int]]:
    """(begin, end, font) of runs with a font of their own, in order, none within another."""
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
    """Pages of 512 bytes with runs. Those that the table omits follow the last listed one without gaps."""
    table = _told(stream, _RUNS)
    count = max(0, (len(table) - 4) // 6)
    listed = struct.unpack_from(f"<{count}H", table, 4 * (count + 1)) if count else ()
    wanted = min(_two(stream, _PAGES), len(stream) // _PAGE)
    after = listed[-1] + 1 if listed else _two(stream, _FIRST_PAGE)
    yield from listed[: len(stream) // _PAGE + 1]
    yield from range(after, after + max(0, wanted - count))


def _font_in(modifiers: bytes) -> int | None:
    """The font that modifiers of characters set; None where they set none, or one is not known before it."""
    at = 0
    while at < len(modifiers):
        length = _LENGTHS.get(modifiers[at])
        if length is None:
            return None
        if modifiers[at] == _FONT:
            return _two(modifiers, at + 1)
        at += 2 + modifiers[at + 1] if length == _VARIABLE and at + 1 < len(modifiers) else 1 + max(length, 0)
    return None
