"""Text of enhanced metafiles ([MS-EMF] 2.3.5), of the EMF+ records and of the Windows metafile in their comments."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from readers.errors import DocumentError, corrupt, truncated
from readers.images.metafiles import wmf
from readers.images.metafiles.lines import Fonts, Lines, advance

# Text of EMF+ records ([MS-EMFPLUS] 2.3.4.14, 2.3.4.6), which are in comments of an enhanced metafile.

_PLUS_RECORD = struct.Struct("<HHII")  # type, flags, size, size of the data
_HEADER, _DRAW_STRING, _DRAW_DRIVER_STRING = 0x4001, 0x401C, 0x4036
_STRING = struct.Struct("<8xIff8x")  # brush and format, characters, the rectangle around them
_DRIVER_STRING = struct.Struct("<4xIII")  # brush, options, whether a matrix follows, glyphs
_CHARACTERS = 1  # option: they are characters, not numbers of glyphs
_DUAL = 1


def _read_plus(data: bytes, lines: Lines) -> bool:
    """Add the runs of the records in one comment; return whether the metafile's other records draw the same."""
    at, dual = 0, False
    while at + _PLUS_RECORD.size <= len(data):
        kind, flags, size, length = _PLUS_RECORD.unpack_from(data, at)
        if size < _PLUS_RECORD.size:
            break
        if kind == _HEADER:
            dual = bool(flags & _DUAL)
        elif kind in (_DRAW_STRING, _DRAW_DRIVER_STRING):
            start = at + _PLUS_RECORD.size
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


_RECORD = struct.Struct("<II")
_EOF, _SAVE, _RESTORE, _SELECT, _DELETE, _COMMENT, _CREATE_FONT = 14, 33, 34, 37, 40, 70, 82
_EXT_A, _EXT_W, _POLY_A, _POLY_W, _SMALL = 83, 84, 96, 97, 108
_HANDLED = frozenset(
    (_SAVE, _RESTORE, _SELECT, _DELETE, _COMMENT, _CREATE_FONT, _EXT_A, _EXT_W, _POLY_A, _POLY_W, _SMALL)
)
_ONE, _COUNT, _MANY = 36, 36, 40  # positions in a record: its only text, the number of its texts, the first of these
_EMR_TEXT = struct.Struct("<iiIII16xI")  # 2.2.5: place, characters, where they are, options, where the distances are
_SMALL_TEXT = struct.Struct("<iiII12x")  # 2.3.5.37
_GLYPHS, _NO_RECTANGLE, _IN_BYTES, _PAIRS = 0x10, 0x100, 0x200, 0x2000  # of ExtTextOutOptions (2.1.11)
_CHARSET = 12 + 23  # position in a font (2.2.13), after the record's head and the font's number
_EMF_PLUS, _PUBLIC = b"EMF+", b"GDIC"
_OLDER = _PUBLIC + (0x80000001).to_bytes(4, "little")  # 2.3.3.4.3: the same picture, after 16 bytes about it
_PDF, _BEFORE_PDF = b"%PDF-", 64  # the beginning of a PDF, and the bytes of a comment's record in which it is searched


class EmfReader:
    """Reader of the records, in one pass."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._fonts = Fonts()
        self._lines, self._plus, self._older = Lines(), Lines(), Lines()
        self._dual = False  # the other records repeat the text of the EMF+ records
        self.error: DocumentError | None = None
        self._older_error: DocumentError | None = None  # it counts if no other record has the text

    def read(self) -> list[Lines]:
        """Return all runs of characters, those of EMF+ records separately, once, and those of a Windows metafile if it
        has more words; `error` reports afterwards whether the file breaks off."""
        data, at = self._data, 0
        while at + _RECORD.size <= len(data):
            kind, length = _RECORD.unpack_from(data, at)
            end = at + length
            if length < _RECORD.size:
                self.error = corrupt("a record of the metafile has no length")
                break
            if end > len(data):
                self.error = truncated("the metafile ends inside a record")
                break
            if kind in _HANDLED:
                self._take(kind, data[at:end])
            if kind == _EOF:
                break
            at = end
        newer = [self._lines] if self._dual and self._lines.text() else [self._lines, self._plus]
        known = {word for lines in newer for word in lines.text().split()}
        if not known:
            self.error = self.error or self._older_error
        return newer if known.issuperset(self._older.text().split()) else [*newer, self._older]

    def _take(self, kind: int, record: bytes) -> None:
        fonts = self._fonts
        if kind == _SAVE:
            fonts.save()
        elif kind == _RESTORE:
            fonts.restore(int.from_bytes(record[8:12], "little", signed=True))
        elif kind == _SELECT:
            fonts.select(_word(record, 8))
        elif kind == _DELETE:
            fonts.forget(_word(record, 8))
        elif kind == _CREATE_FONT and len(record) > _CHARSET:
            fonts.make(_word(record, 8), record[_CHARSET])
        elif kind == _COMMENT:
            self._comment(record)
        elif kind in (_EXT_A, _EXT_W):
            self._text(record, _ONE, 2 if kind == _EXT_W else 1, len(record))
        elif kind in (_POLY_A, _POLY_W):
            self._texts(record, 2 if kind == _POLY_W else 1)
        elif kind == _SMALL:
            self._small(record)

    def _comment(self, record: bytes) -> None:
        if record[12:16] == _EMF_PLUS:
            self._dual |= _read_plus(record[16 : 12 + _word(record, 8)], self._plus)
        elif record.startswith(_OLDER, 12):
            try:
                self._older_error = wmf.read(record[36 : 36 + _word(record, 32)], self._older)
            except DocumentError as error:
                self._older_error = error

    def _texts(self, record: bytes, width: int) -> None:
        """Read several consecutive texts: together they are not longer than their record."""
        left = len(record)
        for number in range(min(_word(record, _COUNT), (len(record) - _MANY) // _EMR_TEXT.size)):
            left -= self._text(record, _MANY + number * _EMR_TEXT.size, width, left)

    def _text(self, record: bytes, at: int, width: int, most: int) -> int:
        """Read a text of `width` bytes a character, and at most `most` bytes; return its number of bytes."""
        if at + _EMR_TEXT.size > len(record):
            return 0
        x, y, count, offset, options, distances = _EMR_TEXT.unpack_from(record, at)
        if options & _GLYPHS:
            self._lines.glyphs += count > 0
            return 0
        raw = record[offset : offset + min(width * count, most)]
        step = 2 if options & _PAIRS else 1
        far = advance(record, distances, len(raw) // width * step, "i", step)
        self._lines.add(self._decoded(raw, width), x, y, far)
        return len(raw) + (4 * count * step if far is not None else 0)

    def _small(self, record: bytes) -> None:
        if len(record) < 8 + _SMALL_TEXT.size:
            return
        x, y, count, options = _SMALL_TEXT.unpack_from(record, 8)
        at = 8 + _SMALL_TEXT.size + (0 if options & _NO_RECTANGLE else 16)
        if options & _GLYPHS:
            self._lines.glyphs += count > 0
        elif options & _IN_BYTES:  # the low bytes of UTF-16
            self._lines.add(record[at : at + count].decode("latin-1"), x, y)
        else:
            self._lines.add(self._decoded(record[at : at + 2 * count], 2), x, y)

    def _decoded(self, raw: bytes, width: int) -> str:
        return raw.decode("utf-16-le", "replace") if width == 2 else self._fonts.text(raw)


def carried(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield (extension, bytes) of the complete files in comments: PDFs, because Office for Mac keeps a picture that was
    a PDF in both forms, and the Windows metafile for older programs. Stops at the first incomplete record."""
    at = 0
    while at + _RECORD.size <= len(data):
        kind, length = _RECORD.unpack_from(data, at)
        if length < _RECORD.size or at + length > len(data) or kind == _EOF:
            return
        if kind == _COMMENT and (begin := data.find(_PDF, at, min(at + _BEFORE_PDF, at + length))) >= 0:
            yield "pdf", data[begin : min(at + length, at + 12 + _word(data, at + 8))]
        elif kind == _COMMENT and data.startswith(_OLDER, at + 12):
            yield "wmf", data[at + 36 : min(at + length, at + 36 + _word(data, at + 32))]
        at += length


def _word(record: bytes, at: int) -> int:
    return int.from_bytes(record[at : at + 4], "little")
