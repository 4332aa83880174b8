"""Workbooks of Excel 5 to 2003 ([MS-XLS]): text of all sheets, hidden ones too, properties, objects, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.charset import CHARSET_KEYS, least_certain
from readers.errors import DocumentError, corrupt, keep_error
from readers.modules import MEDIA_TYPES
from readers.office import art as office_art
from readers.office import vba as office_vba
from readers.office.cell_formats import FORMATS_LEFT
from readers.office.encryption.legacy import opened_xls
from readers.office.ole import objects as ole_objects
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.office.xls import kept
from readers.office.xls.biff import BOF, EOF, records
from readers.office.xls.sheets import ReadCell, ReadGlobal, Sheets
from readers.records import Limits

_STREAMS = ("Workbook", "Book")  # BIFF8, BIFF5; a file that has both has the same content in both
_DRAWING_GROUP = 0xEB
_OBJECTS = "MBD"  # names of the storages of embedded objects begin with it ([MS-XLS] 2.1.7.7)


class XlsHandler(LeafHandler):
    """A workbook or template in a compound file."""

    name = "xls"
    media_types: tuple[str, ...] = ("application/vnd.ms-excel",)
    declared = Declared(
        title="Excel workbooks, Excel 5 to 2003",
        extensions=("xls", "xlt"),
        text="cells by rows, sheet by sheet, including hidden sheets: numbers as stored, and as displayed if that "
        "adds words; notes, text boxes, WordArt, headers, footers, charts; input prompts of cells; names, "
        "scenarios and queries, cached cells of linked workbooks, cached items of pivot tables; link targets",
        # The latter for Excel 5 and 95, if the bytes contradict the code page
        metadata=(*property_set.KEYS, *CHARSET_KEYS),
        children="embedded objects (a packaged file under its own name), then pictures, then macro modules",
        leaves_out=(
            LEFT_OUT,
            "workbooks that need a password which is not in the bank (`--passwords`)",
            "which cached items of a pivot table belong to one row; caches with a password; the change log of a "
            "shared workbook",
            "names, scenarios, queries, links to other workbooks and pivot tables of Excel 5 and 95",
            "controls of Excel 5 and 95 other than boxes and buttons",
            "formulas (their results are extracted); macros of Excel 5 and 95",
            FORMATS_LEFT,
            "link targets beyond the first 10,000 different ones: the exception is `too_large`",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield embedded objects, then pictures, then modules of macros. A workbook that cannot be opened has none:
        `text` reports why."""
        try:
            compound, _ = opened_xls(source, limits)
        except DocumentError:
            return
        storages = (e for e in compound.root.children if e.name.upper().startswith(_OBJECTS))
        objects, pictures = ole_objects.children(compound, storages), office_art.children(_drawings(compound))
        yield from ole_objects.carried_by(source, compound, objects, pictures, office_vba.children(compound, limits))

    def text(self, source: Source, limits: Limits) -> Text:
        """Return cells by rows, sheet after sheet, with notes, boxes, headers and footers."""
        compound, opened = opened_xls(source, limits)
        data = _stream(compound)
        if not data:
            raise compound.error or corrupt("the file has no stream Workbook")
        if data[:2] != b"\x09\x08":
            raise corrupt("the workbook does not begin with its first record")
        sheets = Sheets(data)
        collector = clean.Collector(limits.text_characters)
        collector.lines(sheets.lines())
        if not opened:  # with a password the caches are encrypted too
            with keep_error(sheets):
                collector.lines(kept.caches(compound))
        metadata = property_set.metadata(compound) | opened
        error = sheets.error or compound.error
        return collector.result(error=error, detected=least_certain([sheets.detected]), metadata=metadata)


def _stream(compound: CompoundFile) -> bytes:
    """Return the workbook's records; b"" if there are none."""
    return next((data for name in _STREAMS if (data := compound.read(compound.root.stream(name)))), b"")


def _drawings(compound: CompoundFile) -> Iterator[bytes]:
    """Yield the drawing group ([MS-XLS] 2.4.171), which is in the globals and contains the pictures of all sheets. A
    large one spans several such records, and so may a picture."""
    group: list[bytes] = []
    with suppress(DocumentError):
        for _, kind, pieces in records(_stream(compound)):
            if kind == _DRAWING_GROUP:
                group += pieces
            if kind == EOF:
                break
    yield b"".join(group)


# Workbooks of Excel 2 to 4, which are one stream of records outside a compound file (OpenOffice's documentation of the
# Excel file format), and those of Excel 5 to 2003 that were saved so.

_BEGINNINGS = (0x09, 0x209, 0x409)
_SHEET_NAME, _STRING_2 = 0x8F, 0x07  # before each sheet in a workbook of Excel 4; the result of a formula of Excel 2
_FORMAT, _FORMAT_4, _XF_2, _XF_3, _XF_4 = 0x1E, 0x41E, 0x43, 0x243, 0x443


def _of_excel_2(read: ReadCell) -> ReadCell:
    """Read a cell of Excel 2, which has three bytes for its format, as a later one, which has two."""
    return lambda sheets, pieces, style: read(sheets, [pieces[0][:6] + pieces[0][7:], *pieces[1:]], style & 0x3F)


class OldSheets(Sheets):
    """Reader of the records of a file of Excel 2, 3 or 4, in one pass."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self._version8 = False

    def _record(self, offset: int, kind: int, pieces: list[bytes]) -> Iterator[str]:
        if kind in _BEGINNINGS:
            self._depth += 1
        elif kind == _SHEET_NAME:
            yield from self._flush()
            if name := self._text(pieces, 4, 1):
                yield name
        elif kind == _STRING_2 and self._waiting:
            self._waiting = False
            self._add(self._text(pieces, 0, 1))
        else:
            yield from super()._record(offset, kind, pieces)

    def _box(self, data: bytes) -> str:
        return ""  # objects have another layout

    # Globals: formats have no numbers, their order counts ---------------------------------------------------------

    def _on_old_format(self, pieces: list[bytes]) -> None:
        self._formats[len(self._formats)] = self._text(pieces, 0, 1)

    def _on_format_4(self, pieces: list[bytes]) -> None:
        self._formats[len(self._formats)] = self._text(pieces, 2, 1)

    def _look(self, number: int) -> None:
        self._styles.take("", self._formats.get(number, ""))

    def _on_xf_2(self, pieces: list[bytes]) -> None:
        self._look(int.from_bytes(pieces[0][2:3], "little") & 0x3F)

    def _on_xf(self, pieces: list[bytes]) -> None:
        self._look(int.from_bytes(pieces[0][1:2], "little"))

    # Cells of Excel 2 ----------------------------------------------------------------------------------------------

    def _label_2(self, pieces: list[bytes], style: int) -> str:
        return self._text(pieces, 7, 1)

    def _integer(self, pieces: list[bytes], style: int) -> str:
        data = pieces[0][7:9]
        return self._number(int.from_bytes(data, "little"), style & 0x3F) if len(data) == 2 else ""

    cells: ClassVar[dict[int, ReadCell]] = {
        **Sheets.cells,
        0x02: _integer,
        0x03: _of_excel_2(Sheets._double),
        0x04: _label_2,
        0x05: _of_excel_2(Sheets._truth),
        0x06: _of_excel_2(Sheets._formula),
        0x206: Sheets._formula,
    }
    globals: ClassVar[dict[int, ReadGlobal]] = {
        **Sheets.globals,
        _FORMAT: _on_old_format,
        _FORMAT_4: _on_format_4,
        _XF_2: _on_xf_2,
        _XF_3: _on_xf,
        _XF_4: _on_xf,
    }
    others: ClassVar[frozenset[int]] = Sheets.others | {*_BEGINNINGS, _SHEET_NAME, _STRING_2, *globals}


class OldXlsHandler(LeafHandler):
    """A workbook outside a compound file."""

    name = "xls-2-4"
    media_types: tuple[str, ...] = MEDIA_TYPES["office.xls.handler"][1:]
    declared = Declared(
        title="Excel workbooks, Excel 2 to 4, and later ones outside compound files",
        extensions=("xls", "xlw", "xlc", "xlm"),
        text="cells by rows, sheet by sheet: numbers as stored, and as displayed if that adds words; notes, "
        "headers, footers",
        metadata=CHARSET_KEYS,  # if the bytes contradict the code page
        leaves_out=(
            "workbooks that need a password: the exception is `encrypted`",
            "text boxes of Excel 3 and 4; formulas (their results are extracted)",
            FORMATS_LEFT,
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return cells by rows, sheet after sheet, with notes, headers and footers."""
        data = source.whole(limits.parse_bytes)
        kind = int.from_bytes(data[:2], "little")
        if kind not in (*_BEGINNINGS, BOF):
            raise corrupt("the workbook does not begin with its first record")
        sheets = Sheets(data) if kind == BOF else OldSheets(data)
        collector = clean.Collector(limits.text_characters)
        collector.lines(sheets.lines())
        return collector.result(error=sheets.error, detected=least_certain([sheets.detected]))
