"""Text of the sheets of a workbook ([MS-XLS]): cells by rows, notes and boxes, headers and footers."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, ClassVar

from readers.charset import CodePage, Detected
from readers.charset_labels import by_page
from readers.errors import DocumentError, ExceptionCode, encrypted, too_large, truncated
from readers.office import art
from readers.office.cell_formats import Styles, number_shown, text_format
from readers.office.ooxml.sheet import lost_strings, printed
from readers.office.xls import kept
from readers.office.xls.biff import BOF, CONTINUED, EOF, Strings, cut_short, record, rk

_FILEPASS, _CODEPAGE, _DATEMODE = 0x2F, 0x42, 0x22
_BOUNDSHEET, _SST, _XF, _FORMAT, _FORMAT_5 = 0x85, 0xFC, 0xE0, 0x41E, 0x1E
_LABEL, _RSTRING, _LABELSST, _NUMBER, _RK, _MULRK = 0x204, 0xD6, 0xFD, 0x203, 0x27E, 0xBD
_FORMULA, _FORMULA_OLD, _STRING, _BOOLERR = 0x06, 0x406, 0x207, 0x205
_NOTE, _TXO, _HEADER, _FOOTER, _HEADERS, _CHART_TEXT = 0x1C, 0x1B6, 0x14, 0x15, 0x89C, 0x100D
_OBJECT, _BOX, _BUTTON, _DRAWING = 0x5D, 6, 7, 0xEC
_LINK, _VALIDATION = 0x1B8, 0x1BE
_ADDRESSES = 10_000  # different addresses of links
_ASIDE = frozenset(
    (*kept.READERS, _LINK, _VALIDATION, _NOTE, _TXO, _HEADER, _FOOTER, _HEADERS, _CHART_TEXT, _OBJECT, _DRAWING)
)
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A"}
_LONGEST_ROW = 1_000_000  # characters; a longer one is given in parts (cells may all share one long string)
_CELL = struct.Struct(
    "<HHH2xHI"
)  # type, length, row and cell format of a record of one or more cells, and the next word
_WORD = struct.Struct("<I")
_PLAIN = {_LABELSST: 10, _RK: 10, _NUMBER: 14}  # lengths of the most frequent records, of one cell each
_LOOK = 8  # offset of the cell's format in such a record; its value follows
_KNOWN = 4096  # shown numbers that are remembered
ReadCell = Callable[[Any, list[bytes], int], str]  # returns the text of the cells of one record, separated by tabs
ReadGlobal = Callable[[Any, list[bytes]], None]


class Sheets:
    """Reader of a workbook's stream in one pass, from its globals to its last sheet; it yields lines of text."""

    def __init__(self, stream: bytes) -> None:
        self._stream = stream
        self._depth = 0
        self._version8, self._begun = True, False
        self._page = CodePage("cp1252")
        self._start = datetime(1899, 12, 30)
        self._names: dict[int, str] = {}  # offset of a sheet's first record → its name
        self._shared: list[str] = []
        self._formats: dict[int, str] = {}
        self._styles = Styles()
        self._row: list[str] = []
        self._row_number = -1
        self._row_size = 0  # characters
        self._lost = 0  # cells that refer to a missing shared string
        self._asked: set[str] = set()  # prompts of cells of the sheet
        self._addresses: dict[str, None] = {}  # of links
        self._waiting = False  # a formula's string follows
        self._known: dict[bytes, str] = {}  # format and value of a cell → its text; many cells are the same
        self.error: DocumentError | None = None

    @property
    def detected(self) -> Detected:
        """Charset of its byte strings, which Excel 5 and older versions have."""
        return self._page.detected

    def lines(self) -> Iterator[str]:
        """Yield each sheet's name, then its rows with cells separated by tabs, and its other texts where they occur.
        Raises DocumentError `encrypted`; other errors are in `error` afterwards."""
        try:
            yield from self._records()
        except DocumentError as failed:
            if failed.code is ExceptionCode.ENCRYPTED:
                raise
            self.error = failed
        yield from self._flush()
        yield from self._addresses
        if self._depth and self.error is None:
            self.error = truncated("the workbook breaks off before its end")
        if self._lost and self.error is None:
            self.error = lost_strings(self._lost)

    def _records(self) -> Iterator[str]:
        """Read all records, of which most are cells in one piece."""
        stream, size, at = self._stream, len(self._stream), 0
        read_head, readers, others, last_cell = _CELL.unpack_from, self.cells, self.others, size - _CELL.size
        plain, known, show, shared, texts = _PLAIN.get, self._known, self._show, self._shared, self._styles.texts
        while at + 4 <= size:
            if at <= last_cell:
                kind, length, row, style, value = read_head(stream, at)
                read = readers.get(kind)
                if read is None:
                    if kind not in others:
                        at += 4 + length
                        continue
                else:
                    end = at + 4 + length
                    simple = plain(kind) == length and end <= size
                    if simple or (length >= 6 and stream[end : end + 2] != CONTINUED):
                        if row != self._row_number or self._row_size > _LONGEST_ROW:
                            yield from self._flush()
                            self._row_number = row
                        if not simple:
                            cell = read(self, [stream[at + 4 : end]], style)
                        elif kind == _LABELSST:
                            if value < len(shared):
                                cell = self._around(shared[value], style) if texts else shared[value]
                            else:
                                cell, self._lost = "", self._lost + 1
                        else:  # further pieces of such a record do not belong to it
                            looked = stream[at + _LOOK : end]
                            cell = known.get(looked) or show(looked)
                        if cell:
                            self._row.append(cell)
                            self._row_size += len(cell)
                        at = end
                        continue
            start = at
            kind, pieces, at = record(stream, at)
            if kind or pieces[0]:  # zeros fill the stream up to its sector
                yield from self._record(start, kind, pieces)
        if at > size:
            raise cut_short()

    def _record(self, offset: int, kind: int, pieces: list[bytes]) -> Iterator[str]:
        if kind in self.cells:
            yield from self._cell(self.cells[kind], pieces)
        elif kind == BOF:
            yield from self._begin(offset, pieces[0])
        elif kind == EOF:
            yield from self._flush()
            self._depth = max(0, self._depth - 1)
        elif kind in self.globals:
            self._known.clear()
            self.globals[kind](self, pieces)
        else:
            yield from self._in_sheet(kind, pieces)

    def _begin(self, offset: int, data: bytes) -> Iterator[str]:
        self._depth += 1
        self._asked.clear()
        if not self._begun:  # Excel 2011 for the Macintosh writes version 8 for the sheets of its Excel 5 workbooks
            self._begun, self._version8 = True, data[:2] != b"\x00\x05"
        if name := self._names.get(offset):
            yield name

    def _cell(self, read: ReadCell, pieces: list[bytes]) -> tuple[str, ...]:
        """Take a cell; return the row before it if the cell begins another one."""
        if len(pieces[0]) < 6:
            return ()
        row, _, style = struct.unpack_from("<HHH", pieces[0])
        done: tuple[str, ...] = ()
        if row != self._row_number or self._row_size > _LONGEST_ROW:
            done = self._flush()
            self._row_number = row
        self._add(read(self, pieces, style))
        return done

    def _in_sheet(self, kind: int, pieces: list[bytes]) -> Iterator[str]:
        if kind == _STRING and self._waiting:
            self._waiting = False
            self._add(self._text(pieces, 0))
        elif kind in _ASIDE and (text := self._aside(kind, pieces)):
            yield from self._flush()
            yield text

    def _add(self, cell: str) -> None:
        if cell:
            self._row.append(cell)
            self._row_size += len(cell)

    def _flush(self) -> tuple[str, ...]:
        """Return the row so far, without empty cells, and begin a new one."""
        cells = self._row
        self._row, self._row_number, self._row_size = [], -1, 0
        return ("\t".join(cells),) if cells else ()

    def _text(self, pieces: list[bytes], at: int, count_bytes: int = 2) -> str:
        """Return a string as this version of the format stores it."""
        if self._version8:
            return Strings(pieces, at).string(count_bytes)
        start = at + count_bytes
        size = int.from_bytes(pieces[0][at:start], "little")
        return self._page.text(pieces[0][start : start + size])

    def _aside(self, kind: int, pieces: list[bytes]) -> str:
        """Return text outside the cells: of notes, boxes, charts, headers and footers."""
        if kind == _DRAWING:  # 2.4.170
            return "\n".join(art.lettering(b"".join(pieces)))
        if kind in kept.READERS:
            return "\t".join(filter(None, kept.READERS[kind](pieces))) if self._version8 else ""
        if kind == _LINK:
            return self._link(kept.address(b"".join(pieces)))
        if kind == _VALIDATION:
            texts = [text for text in dict.fromkeys(kept.validation(pieces)) if text not in self._asked]
            self._asked.update(texts)
            return "\n".join(texts)
        if kind == _CHART_TEXT:  # 2.4.254
            return self._text(pieces, 2, 1)
        if kind == _TXO:  # 2.4.329: the characters are in the first Continue record
            count = int.from_bytes(pieces[0][10:12], "little")
            return Strings(pieces[1:], 1).characters(count, pieces[1][0]) if pieces[1:] and pieces[1] else ""
        if kind == _NOTE:
            if self._version8:  # 2.4.179: the author; the text is in the box
                return self._text(pieces, 8)
            return self._page.text(pieces[0][6:])
        if kind == _OBJECT:
            return "" if self._version8 else self._box(b"".join(pieces))
        if kind == _HEADERS:  # 2.4.137: headers of even and of first pages, if these have their own
            counts = struct.unpack_from("<4H", pieces[0], 30) if len(pieces[0]) >= 38 else ()
            strings = Strings(pieces, 38)
            return "\n".join(filter(None, [printed(strings.string()) for count in counts if count]))
        return printed(self._text(pieces, 0, 2 if self._version8 else 1)) if pieces[0] else ""

    def _link(self, address: str) -> str:
        """Keep an address, which is output once, after all sheets."""
        if address and address not in self._addresses:
            if len(self._addresses) < _ADDRESSES:
                self._addresses[address] = None
            elif self.error is None:
                self.error = too_large(f"it has more than {_ADDRESSES:,} link targets; only the first are read")
        return ""

    def _box(self, data: bytes) -> str:
        """Return the text of a box or button of Excel 5 and 95, which is in the object itself (as OpenOffice reads it):
        after its name and its macro, as many bytes as it counts."""
        at = 70
        if len(data) <= at or _two(data, 4) not in (_BOX, _BUTTON):
            return ""
        if _two(data, 30):
            at += 1 + data[at]
            at += at & 1
        at += _two(data, 26)
        return self._page.text(data[at : at + _two(data, 44)])

    # Globals -----------------------------------------------------------------------------------------------------

    def _on_filepass(self, pieces: list[bytes]) -> None:
        raise encrypted("a password is needed to open it")

    def _on_codepage(self, pieces: list[bytes]) -> None:
        page = int.from_bytes(pieces[0][:2], "little")
        self._page = CodePage({0x8000: "mac-roman", 0x8001: "cp1252"}.get(page) or by_page(page) or "cp1252")

    def _on_datemode(self, pieces: list[bytes]) -> None:
        if pieces[0][:1] == b"\x01":
            self._start = datetime(1904, 1, 1)

    def _on_sheet(self, pieces: list[bytes]) -> None:
        offset = int.from_bytes(pieces[0][:4], "little")
        self._names.setdefault(offset, self._text(pieces, 6, 1))

    def _on_shared(self, pieces: list[bytes]) -> None:
        self._shared.extend(Strings(pieces, 8).rest())

    def _on_format(self, pieces: list[bytes]) -> None:
        number = int.from_bytes(pieces[0][:2], "little")
        self._formats[number] = self._text(pieces, 2, 2 if self._version8 else 1)

    def _on_xf(self, pieces: list[bytes]) -> None:
        number = int.from_bytes(pieces[0][2:4], "little")
        self._styles.take(str(number), self._formats.get(number, ""))

    # Cells -------------------------------------------------------------------------------------------------------

    def _label(self, pieces: list[bytes], style: int) -> str:
        return self._around(self._text(pieces, 6), style)

    def _shared_label(self, pieces: list[bytes], style: int) -> str:
        index = int.from_bytes(pieces[0][6:10], "little")
        if index < len(self._shared):
            return self._around(self._shared[index], style)
        self._lost += 1
        return ""

    def _double(self, pieces: list[bytes], style: int) -> str:
        data = pieces[0][6:14]
        return self._number(struct.unpack("<d", data)[0], style) if len(data) == 8 else ""

    def _show(self, looked: bytes) -> str:
        """Show a number, by its cell's format (two bytes) and its value: a double, or four bytes of one."""
        style, value = _two(looked, 0), looked[2:]
        number = rk(_WORD.unpack(value)[0]) if len(value) == _WORD.size else struct.unpack("<d", value)[0]
        if len(self._known) >= _KNOWN:
            self._known.clear()
        text = self._known[looked] = self._number(number, style)
        return text

    def _packed(self, pieces: list[bytes], style: int) -> str:
        return self._number(rk(int.from_bytes(pieces[0][6:10], "little")), style)

    def _several(self, pieces: list[bytes], style: int) -> str:
        data, known, show = pieces[0][4:-2], self._known, self._show
        each = [data[at : at + 6] for at in range(0, len(data) - 5, 6)]
        return "\t".join([known.get(one) or show(one) for one in each])

    def _formula(self, pieces: list[bytes], style: int) -> str:
        """Return a formula's stored result (2.5.133), and the address of a link; strings follow separately."""
        value = pieces[0][6:14]
        if value[6:8] != b"\xff\xff":
            shown = self._double(pieces, style)
        else:
            self._waiting = value[0] == 0
            shown = _truth_or_error(value[2], error=value[0] == 2) if value[0] in (1, 2) else ""
        strings = kept.linked(pieces[0]) if self._version8 else []
        return " ".join(filter(None, (shown, *strings))) if strings else shown

    def _truth(self, pieces: list[bytes], style: int) -> str:
        data = pieces[0][6:8]
        return _truth_or_error(data[0], error=data[1] == 1) if len(data) == 2 else ""

    def _number(self, number: float, style: int) -> str:
        shown = self._styles[style] if style < len(self._styles) else ""
        text = f"{number:.15g}"
        return number_shown(text, number, shown, self._start) if shown else text

    def _around(self, text: str, style: int) -> str:
        """Return a text with the text that its cell's format shows around it."""
        form = text_format(self._styles[style]) if text and style in self._styles.texts else None
        return text if form is None else form.text(text)

    # By number; derived classes may change them
    globals: ClassVar[dict[int, ReadGlobal]] = {
        _FILEPASS: _on_filepass,
        _CODEPAGE: _on_codepage,
        _DATEMODE: _on_datemode,
        _BOUNDSHEET: _on_sheet,
        _SST: _on_shared,
        _FORMAT: _on_format,
        _FORMAT_5: _on_format,
        _XF: _on_xf,
    }
    cells: ClassVar[dict[int, ReadCell]] = {
        _LABEL: _label,
        _RSTRING: _label,
        _LABELSST: _shared_label,
        _NUMBER: _double,
        _RK: _packed,
        _MULRK: _several,
        _FORMULA: _formula,
        _FORMULA_OLD: _formula,
        _BOOLERR: _truth,
    }
    others: ClassVar[frozenset[int]] = frozenset((*globals, BOF, EOF, _STRING, *_ASIDE))


def _two(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _truth_or_error(value: int, *, error: bool) -> str:
    if error:
        return _ERRORS.get(value, "")
    return "TRUE" if value else "FALSE"
