"""Text of the XML of OpenDocument files (OASIS OpenDocument 1.3, part 3), read in pieces without building a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from core.errors import DocumentError, ExceptionCode
from worker.formats.clean import Collector

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_FIELDS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_MATH = "{http://www.w3.org/1998/Math/MathML}"
# A line of text each: paragraphs and headings, what describes a picture, the source of a formula.
_LINES = frozenset((_TEXT + "p", _TEXT + "h", _SVG + "title", _SVG + "desc", _MATH + "annotation"))
# Of the text namespace, but not part of the paragraph they stand in.
_BREAKS = frozenset((_TEXT + "note", _TEXT + "note-citation", _TEXT + "tracked-changes"))
_CELLS = frozenset((_TABLE + "table-cell", _TABLE + "covered-table-cell"))
_ROW, _SHEET, _PAGE = _TABLE + "table-row", _TABLE + "table", _DRAW + "page"
_HEADERS = (_STYLE + "header", _STYLE + "footer")
_MOST_SPACES = 1000
_MOST_HELD = 20_000_000  # characters of paragraphs and rows that are not at their end
_BLANKS = re.compile(r"[ \t\r\n]+")


class _Lines:
    """A parser target (lxml): collects lines. Paragraphs inside a paragraph (notes, comments, text boxes) come before
    it; the cells of a row are one line, with tabs between."""

    def __init__(self, collector: Collector, *, sheets: bool, headers_only: bool) -> None:
        self._collector = collector
        self._sheets = sheets  # name the tables
        self._inside = 0 if headers_only else 1  # headers and footers around here
        self._buffers: list[list[str] | None] = [None]  # of the innermost element; None: its text is nobody's
        self._sinks: list[list[str]] = []  # rows and cells around here
        self._held = 0  # characters in buffers and sinks
        self.pages = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.startswith(_HEADERS):
            self._inside += 1
        top = self._buffers[-1]
        if tag in _LINES:
            top = []
        elif tag in _BREAKS or not tag.startswith((_TEXT, _FIELDS)):
            top = None
            self._structure(tag, attributes)
        elif top is not None:
            self._mark(top, tag, attributes)
        self._buffers.append(top)

    def _structure(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == _ROW or tag in _CELLS:
            self._sinks.append([])
        elif tag == _PAGE:
            self.pages += 1
        elif tag == _SHEET and self._sheets and (name := attributes.get(_TABLE + "name")):
            self._line(name)

    def _mark(self, buffer: list[str], tag: str, attributes: dict[str, str]) -> None:
        if tag == _TEXT + "s":
            count = attributes.get(_TEXT + "c", "1")
            self._hold(buffer, " " * (min(int(count), _MOST_SPACES) if count.isdecimal() and len(count) < 9 else 1))
        elif tag == _TEXT + "tab":
            self._hold(buffer, "\t")
        elif tag == _TEXT + "line-break":
            self._hold(buffer, "\n")

    def _hold(self, buffer: list[str], text: str) -> None:
        """Keep a piece of a line; of lines without end, what fits into memory."""
        room = _MOST_HELD - self._held
        self._held += len(text)
        if len(text) > room:
            text = text[: max(0, room)]
            self._collector.cut = True
        buffer.append(text)

    def data(self, text: str) -> None:
        top = self._buffers[-1]
        if top is not None:
            self._hold(top, _BLANKS.sub(" ", text))  # part 3, 6.1.2

    def end(self, tag: str) -> None:
        own = self._buffers.pop()
        if tag in _LINES:
            self._line("".join(own or ()))
        elif tag in _CELLS:
            self._line("\n".join(self._sinks.pop()))
        elif tag == _ROW:
            self._line("\t".join(self._sinks.pop()))
        elif tag.startswith(_HEADERS):
            self._inside -= 1

    def _line(self, line: str) -> None:
        """To the row or cell around it, else to the collector."""
        shown = line.strip(" ")
        if self._sinks and shown:
            self._sinks[-1].append(shown)
            return
        self._held -= len(line)
        if shown and self._inside:
            self._collector.add(shown + "\n")

    def flush(self) -> None:
        """What is held of lines without end."""
        for sink in self._sinks:
            self._collector.add("\t".join(sink))
        for buffer in self._buffers:
            self._collector.add("".join(buffer or ()))

    def close(self) -> None:
        """The end of the document."""


def read_text(
    pieces: Iterator[bytes], collector: Collector, *, sheets: bool = False, headers_only: bool = False
) -> int:
    """Lines of one XML part into the collector; returns how many pages (slides) it draws. `headers_only`: of page styles
    what stands in headers and footers. What was readable comes first, then DocumentError `corrupt` (or what `pieces`
    raises). No entity is replaced and nothing outside the part is fetched."""
    target = _Lines(collector, sheets=sheets, headers_only=headers_only)
    untyped: Any = target  # the stubs ask for methods that lxml does not
    parser = etree.XMLParser(
        target=untyped, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
    )
    fed = False
    try:
        for piece in pieces:
            parser.feed(piece)
            fed = True
            if collector.cut:
                target.flush()
                return target.pages
        if fed:
            parser.close()
    except etree.XMLSyntaxError as error:
        raise DocumentError(ExceptionCode.CORRUPT, f"a part is not well-formed XML: {str(error)[:200]}") from error
    return target.pages
