"""Workbooks of Excel 2002 and 2003 that are one XML file (Office 2003 XML Reference Schemas, SpreadsheetML)."""

from __future__ import annotations

from collections.abc import Iterator

from readers import clean
from readers.base import Declared, LeafHandler, Source, Text
from readers.errors import DocumentError
from readers.office.ooxml.kinds import KEYS_OF_2003
from readers.office.ooxml.sheet import printed
from readers.office.ooxml.xml import Element, attribute, elements, local
from readers.records import Limits

_ASKED = ("InputTitle", "InputMessage", "ErrorTitle", "ErrorMessage")  # prompts of cells
_PIVOT = ("PivotField", "PivotItem")
_CACHED = "row"  # of a pivot table's cache, in the form of ADO
_TAGS = (
    *("Worksheet", "Row", "NamedRange", "Header", "Footer", "DocumentProperties", "DataValidation", _CACHED),
    *(*_ASKED, *_PIVOT),
)
_PIECE = 1 << 18


class SpreadsheetMlHandler(LeafHandler):
    """A workbook in Excel's own XML, before Office Open XML."""

    name = "spreadsheetml"
    whole = False
    declared = Declared(
        title="Excel workbooks in one XML file, Excel 2002 and 2003",
        extensions=("xml", "xls"),
        text="cells by rows as stored, with comments and link targets; names of sheets, headers, footers, input "
        "prompts and choices of cells, cached items of pivot tables",
        metadata=tuple(KEYS_OF_2003.values()),
        leaves_out=("formulas (their results are extracted)", "numbers and dates as displayed"),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return cells by rows; if the XML is damaged, what was readable and `error`."""
        collector = clean.Collector(limits.text_characters)
        pairs: list[tuple[str, str | None]] = []
        failed: DocumentError | None = None
        try:
            with source.open() as file:
                for element in elements(iter(lambda: file.read(_PIECE), b""), *_TAGS):
                    if local(element) == "DocumentProperties":
                        pairs += [(KEYS_OF_2003[local(one)], one.text) for one in element if local(one) in KEYS_OF_2003]
                    elif (line := "\t".join(filter(None, _line(element)))) and not collector.add(line + "\n"):
                        break
        except DocumentError as error:
            failed = error
        return collector.result(error=failed, metadata=clean.values(pairs))


def _line(element: Element) -> Iterator[str]:
    name = local(element)
    if name in ("Worksheet", "NamedRange"):
        yield attribute(element, "Name")
    elif name in ("Header", "Footer"):
        yield printed(attribute(element, "Data"))
    elif name in _ASKED:
        yield _own_text(element)
    elif name == _CACHED:
        yield from map(str, element.attrib.values())
    elif name in _PIVOT:
        yield from map(_own_text, element.iterchildren("{*}Name"))
    elif name == "DataValidation":  # its choices, if they are listed there
        choices = map(_own_text, element.iterchildren("{*}Value"))
        yield from (text.strip('"') for text in choices if text.startswith('"'))
    else:
        for cell in element:
            yield " ".join(filter(None, _cell(cell)))


def _cell(cell: Element) -> Iterator[str]:
    for part in cell:
        if local(part) == "Comment":
            yield attribute(part, "Author")
        yield _own_text(part)
    yield attribute(cell, "HRef")
    yield attribute(cell, "HRefScreenTip")


def _own_text(element: Element) -> str:
    return "".join(piece for piece in element.itertext() if isinstance(piece, str)).strip()
