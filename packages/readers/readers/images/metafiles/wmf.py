"""Text of Windows metafiles ([MS-WMF] 2.3.3.5, 2.3.3.20): records in 16-bit words, characters in bytes of the font's code
page."""

from __future__ import annotations

import heapq
import struct

from readers.errors import DocumentError, corrupt, truncated
from readers.images.metafiles.lines import Fonts, Lines, advance

_PLACEABLE = b"\xd7\xcd\xc6\x9a"
_PLACEABLE_BYTES, _HEADER_BYTES = 22, 18
_HEADER_WORDS = b"\x09\0"
_RECORD = struct.Struct("<IH")
_TEXT, _EXT_TEXT = 0x0521, 0x0A32
_CREATE_FONT, _SELECT, _DELETE, _SAVE, _RESTORE = 0x02FB, 0x012D, 0x01F0, 0x001E, 0x0127
_CREATE = frozenset((0x00F7, 0x01F9, 0x0142, 0x02FA, _CREATE_FONT, 0x02FC, 0x06FF))  # all share one table of objects
_CHARSET = 13  # position in a font, after its sizes and style (2.2.1.2)
_GLYPHS, _RECTANGLE = 0x10, 0x06  # of ExtTextOutOptions (2.1.2.2)


class _Slots:
    """The table of objects: a new object takes the lowest free place (3.1.4.1)."""

    def __init__(self) -> None:
        self._free: list[int] = []
        self._taken: set[int] = set()

    def take(self) -> int:
        slot = heapq.heappop(self._free) if self._free else len(self._taken)
        self._taken.add(slot)
        return slot

    def give_back(self, place: int) -> None:
        if place in self._taken:
            self._taken.remove(place)
            heapq.heappush(self._free, place)


def read(data: bytes, lines: Lines) -> DocumentError | None:
    """Add every run of characters to `lines`; return the error if the file breaks off. Raises DocumentError `corrupt`
    if it does not begin as a metafile."""
    at = _PLACEABLE_BYTES if data.startswith(_PLACEABLE) else 0
    if len(data) < at + _HEADER_BYTES or data[at + 2 : at + 4] != _HEADER_WORDS:
        raise corrupt("the metafile has no header")
    at += _HEADER_BYTES
    fonts, slots = Fonts(), _Slots()
    while at + _RECORD.size <= len(data):
        words, function = _RECORD.unpack_from(data, at)
        end = at + 2 * words
        if function == 0 and words <= 3:
            return None
        if words < 3:
            return corrupt("a record of the metafile has no length")
        if end > len(data):
            return truncated("the metafile ends inside a record")
        if function in _CREATE:
            place = slots.take()
            if function == _CREATE_FONT and end > at + _RECORD.size + _CHARSET:
                fonts.make(place, data[at + _RECORD.size + _CHARSET])
        elif function in _HANDLED:
            _take(function, data[at + _RECORD.size : end], fonts, slots, lines)
        at = end
    return None


_HANDLED = frozenset((_TEXT, _EXT_TEXT, _SELECT, _DELETE, _SAVE, _RESTORE))


def _take(function: int, record: bytes, fonts: Fonts, slots: _Slots, lines: Lines) -> None:
    if function == _SAVE:
        fonts.save()
    elif len(record) < 2:
        return
    elif function == _SELECT:
        fonts.select(int.from_bytes(record[:2], "little"))
    elif function == _DELETE:
        place = int.from_bytes(record[:2], "little")
        slots.give_back(place)
        fonts.forget(place)
    elif function == _RESTORE:
        fonts.restore(int.from_bytes(record[:2], "little", signed=True))
    elif function == _TEXT:
        _text(record, fonts, lines)
    else:
        _ext_text(record, fonts, lines)


def _text(record: bytes, fonts: Fonts, lines: Lines) -> None:
    """Read META_TEXTOUT: the characters, then their position."""
    count = int.from_bytes(record[:2], "little")
    place = 2 + count + (count & 1)
    y, x = struct.unpack_from("<hh", record, place) if place + 4 <= len(record) else (0, 0)
    lines.add(fonts.text(record[2 : 2 + count]), x, y)


def _ext_text(record: bytes, fonts: Fonts, lines: Lines) -> None:
    """Read META_EXTTEXTOUT: the position, an optional rectangle, the characters, the distance from each to the next."""
    if len(record) < 8:
        return
    y, x, count, options = struct.unpack_from("<hhHH", record)
    at = 16 if options & _RECTANGLE else 8
    if options & _GLYPHS:
        lines.glyphs += count > 0
        return
    width = advance(record, at + count + (count & 1), count, "h")
    lines.add(fonts.text(record[at : at + count]), x, y, width)
