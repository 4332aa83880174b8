"""Text of EMF+ records ([MS-EMFPLUS] 2.3.4.14, 2.3.4.6), which are in comments of an enhanced metafile."""

from __future__ import annotations

import struct

from readers.images.metafiles.lines import Lines

_RECORD = struct.Struct("<HHII")  # type, flags, size, size of the data
_HEADER, _DRAW_STRING, _DRAW_DRIVER_STRING = 0x4001, 0x401C, 0x4036
_STRING = struct.Struct("<8xIff8x")  # brush and format, characters, the rectangle around them
_DRIVER_STRING = struct.Struct("<4xIII")  # brush, options, whether a matrix follows, glyphs
_CHARACTERS = 1  # of its options: they are characters, not numbers of glyphs
_DUAL = 1


def read(data: bytes, lines: Lines) -> bool:
    """The runs of the records in one comment; whether they say that the metafile's other records draw the same."""
    at, dual = 0, False
    while at + _RECORD.size <= len(data):
        kind, flags, size, length = _RECORD.unpack_from(data, at)
        if size < _RECORD.size:
            break
        if kind == _HEADER:
            dual = bool(flags & _DUAL)
        elif kind in (_DRAW_STRING, _DRAW_DRIVER_STRING):
            start = at + _RECORD.size
            record = data[start : min(start + length, at + size)]
            (_string if kind == _DRAW_STRING else _driver_string)(record, lines)
        at += size
    return dual


def _string(record: bytes, lines: Lines) -> None:
    if len(record) < _STRING.size:
        return
    count, x, y = _STRING.unpack_from(record)
    lines.add(_characters(record, _STRING.size, count), x, y)


def _driver_string(record: bytes, lines: Lines) -> None:
    if len(record) < _DRIVER_STRING.size:
        return
    options, _, count = _DRIVER_STRING.unpack_from(record)
    if not options & _CHARACTERS:
        lines.glyphs += count > 0
        return
    places = _DRIVER_STRING.size + 2 * count
    x, y = struct.unpack_from("<ff", record, places) if places + 8 <= len(record) else (0.0, 0.0)
    lines.add(_characters(record, _DRIVER_STRING.size, count), x, y)


def _characters(record: bytes, at: int, count: int) -> str:
    return record[at : at + 2 * count].decode("utf-16-le", "replace")
