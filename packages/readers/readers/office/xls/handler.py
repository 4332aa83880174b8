"""Workbooks of Excel 5 to 2003 ([MS-XLS]): text of all sheets, hidden ones too, properties, objects, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.charset import CHARSET_KEYS, least_certain
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.office import art as office_art
from readers.office import vba as office_vba
from readers.office.cell_formats import FORMATS_LEFT
from readers.office.encryption.legacy import opened_xls
from readers.office.ole import objects as ole_objects
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.office.xls import kept
from readers.office.xls.biff import EOF, records
from readers.office.xls.sheets import Sheets
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest

_STREAMS = ("Workbook", "Book")  # BIFF8, BIFF5; a file that has both has the same content in both
_DRAWING_GROUP = 0xEB
_OBJECTS = "MBD"  # names of the storages of embedded objects begin with it ([MS-XLS] 2.1.7.7)


class XlsHandler(LeafHandler):
    """Workbooks and templates in compound files."""

    name = "xls"
    media_types: tuple[str, ...] = ("application/vnd.ms-excel",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Excel workbooks, Excel 5 to 2003",
            extensions=("xls", "xlt"),
            text="cells by rows, sheet by sheet, hidden ones too: numbers plain, and as shown where that has other words; notes, text "
            "boxes, WordArt, headers, footers, charts; what cells say when they are filled in; names, scenarios and queries, cells of other "
            "workbooks that links keep, items that pivot tables keep; addresses behind links",
            # The last of Excel 5 and 95, where the code page is contradicted
            metadata=(*property_set.KEYS, *CHARSET_KEYS),
            children="embedded objects (a packaged file under its own name), then pictures, then modules of macros",
            leaves_out=(
                LEFT_OUT,
                "workbooks that need a password which is not in the bank (`--passwords`)",
                "which items of a pivot table's cache are in one row, and that cache under a password; the log of changes of a shared workbook",
                "names, scenarios, queries, links to other workbooks and pivot tables of Excel 5 and 95",
                "controls of Excel 5 and 95 that are neither boxes nor buttons",
                "formulas (their results are there); macros of Excel 5 and 95",
                FORMATS_LEFT,
                "addresses behind links beyond the first 10,000 different ones: the exception is `too_large`",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Embedded objects, then pictures, then modules of macros. A workbook that cannot be opened has none: `text`
        reports why."""
        try:
            compound, _ = opened_xls(source, limits)
        except DocumentError:
            return
        objects = [e for e in compound.root.children if e.name.upper().startswith(_OBJECTS)]
        position = 0
        for child in ole_objects.children(compound, objects):
            position += 1
            yield child
        for child in office_art.children(_drawings(compound), position):
            position += 1
            yield child
        yield from office_vba.children(compound, limits, position)
        with source.open() as file:
            yield from rest(file, compound.end, source.size, AFTER_CONTENT, "compound file", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Cells by rows, sheet after sheet, with notes, boxes, headers and footers."""
        compound, opened = opened_xls(source, limits)
        data = _stream(compound)
        if not data:
            raise compound.error or DocumentError(ExceptionCode.CORRUPT, "the file has no stream Workbook")
        if data[:2] != b"\x09\x08":
            raise DocumentError(ExceptionCode.CORRUPT, "the workbook does not begin with its first record")
        sheets = Sheets(data)
        collector = clean.Collector(limits.text_characters)
        all(collector.add(line + "\n") for line in sheets.lines())
        if not opened:  # under a password the caches are encrypted too
            try:
                all(collector.add(line + "\n") for line in kept.caches(compound))
            except DocumentError as failed:
                sheets.error = sheets.error or failed
        out = collector.result()
        out.metadata = property_set.metadata(compound) | opened
        clean.note_charset(out, least_certain([sheets.detected]))
        out.error = sheets.error or compound.error
        if out.error is not None and not out.text:
            raise out.error
        return out


def _stream(compound: CompoundFile) -> bytes:
    """The workbook's records; b"" when there are none."""
    return next((data for name in _STREAMS if (data := compound.read(compound.root.stream(name)))), b"")


def _drawings(compound: CompoundFile) -> Iterator[bytes]:
    """The drawing group ([MS-XLS] 2.4.171), which is in the globals and holds the pictures of all sheets. A large one
    spans several such records, and so may a picture."""
    group: list[bytes] = []
    with suppress(DocumentError):
        for _, kind, pieces in records(_stream(compound)):
            if kind == _DRAWING_GROUP:
                group += pieces
            if kind == EOF:
                break
    yield b"".join(group)


HANDLERS: tuple[Handler, ...] = (XlsHandler(),)
