"""Excel workbooks in binary parts ([MS-XLSB]): the same package as xlsx, with records instead of XML."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime

from readers.errors import corrupt, truncated
from readers.office.cell_formats import number_text, text_format
from readers.office.ooxml.package import Package
from readers.office.ooxml.sheet import Workbook, printed
from readers.office.xls.biff import rk

_MOST_RECORD = 1 << 24  # bytes of one record; the largest is a rich text of 32,767 characters
_ROW, _SST_ITEM, _FORMAT, _CELL_FORMAT = 0, 19, 44, 47
_TEXT, _SHARED, _FORMULA_TEXT, _RICH = 6, 7, 8, 62
_RK, _ERROR, _BOOL, _REAL, _FORMULA_REAL, _FORMULA_BOOL, _FORMULA_ERROR = 2, 3, 4, 5, 9, 10, 11
_VALIDATION, _BOOK, _SHEET, _PRINTED, _FORMATS, _FORMATS_END, _COMMENT = 64, 153, 156, 479, 617, 618, 637
_AUTHOR, _RICH_STRING, _READING = 632, 1, 2  # of comments; flags of a shared text
_STRING = b"\x17"  # of a formula
_TRIED = 64  # how often each byte of a record may be tried as a part of a text
NAMES = frozenset((39,))  # the names that a workbook defines, with their comments
_ASIDE = frozenset(
    (167, 174, 463, 494, 502, 504)
)  # of a sheet: filters, conditional formats, links, scenarios, their cells
_ITEM_NUMBER = 21  # of a pivot table's cache
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
_CELL = 8  # bytes before a cell's value: column and format


def records(pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield type and data of each record (2.1.4). Raises DocumentError `truncated` if they end in the middle."""
    data, at = b"", 0
    for piece in pieces:
        data, at = data[at:] + piece, 0
        while (header := _record(data, at)) is not None:
            kind, start, end = header
            if end > len(data):
                break
            yield kind, data[start:end]
            at = end
    if at < len(data):
        raise truncated("a part of the workbook ends within a record")


def _record(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Return type, start and end of the record at `at`; None if that needs more bytes."""
    if at + 6 > len(data) and (not data[at:] or not _complete(data, at)):
        return None
    kind = data[at]
    at += 1
    if kind & 0x80:
        kind = kind & 0x7F | data[at] << 7
        at += 1
    size = shift = 0
    for _ in range(4):
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    if size > _MOST_RECORD:
        raise corrupt(f"a record of {size} bytes in the workbook")
    return kind, at, at + size


def _complete(data: bytes, at: int) -> bool:
    """Return whether the few remaining bytes contain the head of a record."""
    sizes = at + (2 if data[at] & 0x80 else 1)
    return any(not byte & 0x80 for byte in data[sizes:])


def wide(data: bytes, at: int) -> tuple[str, int]:
    """Return a text (2.5.171), and its end; "" if it is incomplete, or null."""
    if at + 4 > len(data):
        return "", len(data)
    count = int.from_bytes(data[at : at + 4], "little")
    end = at + 4 + (0 if count == 0xFFFFFFFF else 2 * count)
    if end > len(data):
        return "", len(data)
    return data[at + 4 : end].decode("utf-16-le", "replace"), end


class BinaryWorkbook(Workbook):
    """Common data of all sheets of a binary workbook."""

    def load(self) -> None:
        """Load sheets with their names, cell formats, shared texts."""
        for main in self._package.having("main"):
            self._listed(main)
        for name in self._package.having("styles"):
            self._formats(name)
        for name in self._package.having("sharedstrings"):
            for kind, data in records(self._package.pieces(name)):
                if kind == _SST_ITEM:
                    self.strings.append(_with_reading(data))

    def _listed(self, main: str) -> None:
        related = self._package.related(main)
        known, there = {name for _, name in self.sheets}, set(self._package.names)
        listed: list[tuple[str, str]] = []
        for kind, data in records(self._package.pieces(main)):
            if kind == _SHEET:
                identifier, end = wide(data, 8)
                name, title = related.get(identifier, ""), wide(data, end)[0]
                if name in known:
                    listed.append((title, name))
                elif name and name not in there:
                    self.gone.append(title)
            elif kind == _BOOK and data[:1] and data[0] & 1:
                self.start = datetime(1904, 1, 1)
        named = {name for _, name in listed}
        self.sheets = listed + [one for one in self.sheets if one[1] not in named]

    def _formats(self, name: str) -> None:
        custom: dict[int, str] = {}
        inside = False
        for kind, data in records(self._package.pieces(name)):
            if kind in (_FORMATS, _FORMATS_END):
                inside = kind == _FORMATS
            elif kind == _FORMAT and len(data) > 2:
                custom[int.from_bytes(data[:2], "little")] = wide(data, 2)[0]
            elif kind == _CELL_FORMAT and inside:
                number = int.from_bytes(data[2:4], "little")
                self.styles.take(str(number), custom.get(number, ""))


def lines(package: Package, name: str, title: str, book: Workbook) -> Iterator[str]:
    """Yield the sheet's name, then its rows, cells separated by tabs, then printed headers and footers; empty cells and
    rows are omitted."""
    if title:
        yield title
    row: list[str] = []
    asked: dict[str, None] = {}
    characters = 0
    for kind, data in records(package.pieces(name)):
        if (kind == _ROW or characters > 1_000_000) and row:
            yield "\t".join(row)
            row, characters = [], 0
        if kind <= _FORMULA_ERROR or kind == _RICH:
            if text := _cell(kind, data, book):
                row.append(text)
                characters += len(text)
        elif kind == _VALIDATION:  # prompts of cells (2.4.359), after its flags and cells
            asked |= dict.fromkeys(filter(None, _prompts(data)))
        elif kind in _ASIDE:
            asked |= dict.fromkeys(text for text in _wide_texts(data) if not text.startswith("rId"))
        elif kind == _PRINTED:
            if row:
                yield "\t".join(row)
                row = []
            yield from filter(None, map(printed, _texts(data, 2, 6)[0]))
    if row:
        yield "\t".join(row)
    yield from asked


def _with_reading(data: bytes) -> str:
    """Return a shared text, followed by the reading of its characters (2.5.122)."""
    flags = int.from_bytes(data[:1], "little")
    text, at = wide(data, 1)
    if flags & _RICH_STRING:
        at += 4 + 4 * int.from_bytes(data[at : at + 4], "little")
    return " ".join(filter(None, (text, wide(data, at)[0]))) if flags & _READING else text


def _prompts(data: bytes) -> Iterator[str]:
    """Yield prompts and error messages of cells, and the choices that are listed there (2.4.359)."""
    texts, at = _texts(data, 8 + 16 * int.from_bytes(data[4:8], "little"), 4)
    yield from texts
    if data[at + 4 : at + 5] == _STRING:
        end = at + 7 + 2 * int.from_bytes(data[at + 5 : at + 7], "little")
        yield data[at + 7 : end].decode("utf-16-le", "replace").replace("\0", ",")


def _texts(data: bytes, at: int, count: int) -> tuple[list[str], int]:
    texts = [""] * count
    for place in range(count):
        texts[place], at = wide(data, at)
    return texts, at


def _cell(kind: int, data: bytes, book: Workbook) -> str:
    value = data[_CELL:]
    style = int.from_bytes(data[4:7], "little")
    if kind in (_TEXT, _FORMULA_TEXT, _RICH, _SHARED):
        text = _text(kind, data, book)
        form = text_format(book.styles[style]) if text and style in book.styles.texts else None
        return text if form is None else form.text(text)
    if kind == _RK and len(value) >= 4:
        return _shown(rk(int.from_bytes(value[:4], "little")), str(style), book)
    if kind in (_REAL, _FORMULA_REAL) and len(value) >= 8:
        return _shown(struct.unpack_from("<d", value)[0], str(style), book)
    if kind in (_BOOL, _FORMULA_BOOL) and value:
        return "TRUE" if value[0] else "FALSE"
    return _ERRORS.get(value[0], "") if kind in (_ERROR, _FORMULA_ERROR) and value else ""


def _text(kind: int, data: bytes, book: Workbook) -> str:
    """Return the text of a text cell, its own or a shared one."""
    if kind != _SHARED:
        return wide(data, _CELL + (kind == _RICH))[0]
    index = int.from_bytes(data[_CELL : _CELL + 4], "little")
    if len(data) >= _CELL + 4 and index < len(book.strings):
        return book.strings[index]
    book.lost += 1
    return ""


def _shown(number: float, style: str, book: Workbook) -> str:
    return number_text(repr(number).removesuffix(".0"), book.shown(style), book.start)


def comments(package: Package, name: str) -> Iterator[str]:
    """Yield the comments of a sheet, and before them who wrote them."""
    for kind, data in records(package.pieces(name)):
        if kind in (_COMMENT, _AUTHOR) and (text := wide(data, int(kind == _COMMENT))[0].strip()):
            yield text


def words(package: Package, name: str, wanted: frozenset[int] | None = None) -> Iterator[str]:
    """Yield the texts (2.5.171) in the records of a part, or in those of these kinds, and the numbers of cached items:
    a line for each record."""
    for kind, data in records(package.pieces(name)):
        if kind == _ITEM_NUMBER and len(data) >= 8:
            yield f"{struct.unpack_from('<d', data)[0]:.15g}"
        elif (wanted is None or kind in wanted) and (line := "\t".join(dict.fromkeys(_wide_texts(data)))):
            yield line


def _wide_texts(data: bytes) -> Iterator[str]:
    """Yield each count with as many printable characters. Raises DocumentError if there is too much to try."""
    left = _TRIED * len(data)
    at = data.find(b"\0\0", 2)
    while at >= 0:
        end = at + 2 + 2 * int.from_bytes(data[at - 2 : at], "little")
        if at + 2 < end <= len(data):
            left -= end - at
            if left < 0:
                raise corrupt("a record of the workbook has too many counts of strings")
            text = data[at + 2 : end].decode("utf-16-le", "replace")
            if text.isprintable() and "\ufffd" not in text and (len(text) > 1 or text.isalnum()):
                yield text
                at = end
        at = data.find(b"\0\0", at + 1)
