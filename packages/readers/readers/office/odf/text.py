"""Text of the XML of OpenDocument files (OASIS OpenDocument 1.3, part 3): small parts as a tree (fast), large ones in
pieces (in bounded memory)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Any

from lxml import etree

from readers.clean import Collector
from readers.errors import DocumentError, corrupt, too_large
from readers.office.odf import lists as odf_lists
from readers.office.ooxml.xml import Element, gathered
from readers.text.xml_tree import PLAIN

# Text of an OpenDocument file other than its paragraphs: link targets, values of forms, commenters; each once.

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
Attributes = dict[str, str] | etree._Attrib
MOST = 100_000  # different lines
_MOST_CHARACTERS = 20_000_000  # of all
_HREF = "{http://www.w3.org/1999/xlink}href"
FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
LINKS = frozenset(
    (
        _TEXT + "a",
        _DRAW + "a",
        "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}event-listener",
    )
)
# Texts of a control (part 3, 19.263): its label, what was entered or preset, and its tooltip. For other kinds of controls
# `value` is sent to a server.
_CONTROL_TEXTS = (FORM + "label", FORM + "current-value", FORM + "title")
_ENTERED = frozenset(
    FORM + kind for kind in ("text", "textarea", "formatted-text", "combobox", "number", "date", "time")
)


# Files outside the document (part 3, 19.910): the origin of cells, passages, pictures and objects.
SOURCES = frozenset(
    (
        *(_TABLE + name for name in ("table-source", "cell-range-source")),
        _TEXT + "section-source",
        *(_DRAW + name for name in ("image", "object", "object-ole", "plugin", "floating-frame")),
    )
)
_ELSEWHERE = ("/", "../", "\\\\")
# Texts in attributes (part 3, 9.2.7, 9.4.4 to 9.4.16, 9.6, 9.9, 14.6.1, 19.870): scenarios, sources of cells, values of
# variables, choices for cells, items of pivot tables.
_OFFICE_VALUE = _OFFICE + "string-value"
_CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"  # of LibreOffice
_LOEXT = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}"  # form controls in a line
_FORMULAS = (_TABLE + "condition", _TABLE + "expression", _CALC + "value")  # only their strings are texts
_STRINGS = re.compile(r'"((?:[^"]++|""|(?!))*+)"')
_PILOT = ("table", "field", "member", "group", "group-member")
TEXT_ATTRIBUTES = {
    _TABLE + "scenario": (_TABLE + "comment",),
    _TABLE + "database-source-sql": (_TABLE + "database-name", _TABLE + "sql-statement"),
    _TABLE + "database-source-table": (_TABLE + "database-name", _TABLE + "database-table-name"),
    _TABLE + "database-source-query": (_TABLE + "database-name", _TABLE + "query-name"),
    **dict.fromkeys((_TABLE + "help-message", _TABLE + "error-message"), (_TABLE + "title",)),
    _TABLE + "content-validation": (_TABLE + "condition",),
    _CALC + "condition": (_CALC + "value",),
    _TABLE + "named-expression": (_TABLE + "name", _TABLE + "expression"),
    _TABLE + "filter-condition": (_TABLE + "value",),
    _TABLE + "change-track-table-cell": (_OFFICE_VALUE, _OFFICE + "value"),
    **dict.fromkeys(
        (_TABLE + "named-range", _TABLE + "database-range", *(f"{_TABLE}data-pilot-{one}" for one in _PILOT)),
        (_TABLE + "name", _TABLE + "source-field-name"),
    ),
    _OFFICE + "dde-source": (_OFFICE + "dde-application", _OFFICE + "dde-topic", _OFFICE + "dde-item"),
    _TEXT + "user-field-decl": (_TEXT + "name", _OFFICE_VALUE),
    **dict.fromkeys(
        (_TEXT + "hidden-text", *(f"{_TEXT}{kind}-mark" for kind in ("toc", "user-index", "alphabetical-index"))),
        (_TEXT + "string-value",),
    ),
    _TEXT + "alphabetical-index-mark-start": (_TEXT + "key1", _TEXT + "key2"),
    _TEXT + "bibliography-mark": tuple(_TEXT + part for part in ("author", "title", "publisher", "url", "note")),
    _TEXT + "variable-set": (_OFFICE_VALUE,),
    _TEXT + "conditional-text": (_TEXT + "string-value-if-true", _TEXT + "string-value-if-false"),
    _LOEXT + "content-control": (_LOEXT + "alias",),
    _TEXT + "database-display": (_TEXT + "database-name", _TEXT + "table-name"),
}


class AttributeTexts:
    """Collector of such text from elements as they begin."""

    def __init__(self) -> None:
        self.lines: dict[str, None] = {}
        self.more = False  # there was more than is kept
        self._left = _MOST_CHARACTERS

    def link(self, attributes: Attributes) -> None:
        """Add the address of a link, unless it is a place in the document."""
        if not (address := attributes.get(_HREF, "")).startswith("#"):
            self.add(address)

    def source(self, attributes: Attributes) -> None:
        """Add the origin of something, unless it is in the package."""
        address = attributes.get(_HREF, "")
        if ":" in address or address.startswith(_ELSEWHERE):
            self.add(address)

    def element(self, tag: str, attributes: Attributes) -> None:
        """Add the text of an element of `TEXT_ATTRIBUTES`; of a variable, if it is not shown."""
        if tag == _TEXT + "variable-set" and attributes.get(_TEXT + "display") != "none":
            return
        values = ((name, attributes.get(name, "")) for name in TEXT_ATTRIBUTES[tag])
        self.add(" ".join(" ".join(_STRINGS.findall(one)) if name in _FORMULAS else one for name, one in values))

    def control(self, tag: str, attributes: Attributes) -> None:
        """Add the texts of a form element."""
        for name in _CONTROL_TEXTS:
            self.add(attributes.get(name, ""))
        if tag in _ENTERED and _CONTROL_TEXTS[1] not in attributes:
            self.add(attributes.get(FORM + "value", ""))

    def add(self, text: str) -> None:
        """Add a line, if it has text and is new."""
        line = " ".join(text.split())
        if not line or line in self.lines:
            return
        self._left -= len(line)
        if self._left < 0 or len(self.lines) >= MOST:
            self.more = True
        else:
            self.lines[line] = None


_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_FIELDS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_MATH = "{http://www.w3.org/1998/Math/MathML}"
# One line of text each: paragraphs and headings, descriptions of a picture, formulas and their source, what all slides
# have above and below (part 3, 10.9.3.3).
_PARAGRAPH, _RUBY = _TEXT + "p", _TEXT + "ruby-text"  # pronunciation of characters
_FORMULA, _SOURCE = _MATH + "math", _MATH + "annotation"
_LINES = frozenset(
    (
        *(_PARAGRAPH, _TEXT + "h", _RUBY, _SVG + "title", _SVG + "desc", _FORMULA, _SOURCE),
        *(f"{_FIELDS}{one}-decl" for one in ("header", "footer", "date-time")),
        *(_TABLE + "title", _TABLE + "desc"),
    )
)
# Of the text namespace, but not part of the paragraph that holds them.
_TRACKED = _TEXT + "tracked-changes"
_BREAKS = frozenset((_TEXT + "note", _TEXT + "note-citation", _TRACKED, _MATH + "annotation-xml"))
_CELLS = frozenset((_TABLE + "table-cell", _TABLE + "covered-table-cell"))
_ROW, _SHEET, _PAGE = _TABLE + "table-row", _TABLE + "table", _DRAW + "page"
_HEADERS = frozenset(_STYLE + place + pages for place in ("header", "footer") for pages in ("", "-left", "-first"))
_SPREADSHEET, _PRESENTATION = _OFFICE + "spreadsheet", _OFFICE + "presentation"
_ANNOTATION, _CREATOR = _OFFICE + "annotation", "{http://purl.org/dc/elements/1.1/}creator"
_IN_LINES = (_TEXT, _FIELDS, _MATH, _LOEXT)
_VALUE_TYPE = _OFFICE + "value-type"
_VALUES = {kind: f"{_OFFICE}{kind}-value" for kind in ("date", "time", "boolean", "string")}
_DURATION = re.compile(r"(-?)P(?:(\d{1,9})D)?T?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(\.\d{1,9})?S)?")
_MOST_SPACES = 1000
_MOST_HELD = 20_000_000  # characters of paragraphs and rows that are not at their end
_BLANKS = re.compile(r"[ \t\r\n]+")


class _Lines:
    """A parser target (lxml) that can also walk through a tree and collects lines. Paragraphs inside a paragraph
    (notes, comments, text boxes) come before it; the cells of a row are one line, separated by tabs."""

    def __init__(
        self, collector: Collector, lists: odf_lists.Lists | None, *, sheets: bool, headers_only: bool
    ) -> None:
        self._collector = collector
        self._lists = lists or odf_lists.Lists()
        self._apart: list[odf_lists.Lists] = []  # lists to continue with after deleted passages
        self._sheets = sheets  # name the tables
        self._inside = 0 if headers_only else 1  # depth of headers and footers
        self._buffers: list[list[str] | None] = [None]  # text of the open elements; None: it is ignored
        self._sinks: list[list[str]] = []  # open rows and cells
        self._values: list[str] = []  # values of the open cells
        self._held = 0  # characters in buffers and sinks
        self._comments = 0  # around here
        self._explained = False  # the source of the formula was read
        self._attribute_texts = AttributeTexts()
        self._slides = False
        self.pages = 0  # slides

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag in _HEADERS:
            self._inside += 1
        elif tag in odf_lists.TAGS:
            self._lists.start(tag, attributes)
        elif tag == _TRACKED:  # before the text: deleted items do not count
            self._apart.append(self._lists)
            self._lists = odf_lists.Lists()
        elif tag == _ANNOTATION:
            self._comments += 1
        elif tag in LINKS and self._inside:
            self._attribute_texts.link(attributes)
        elif tag in SOURCES:
            self._attribute_texts.source(attributes)
        elif tag in TEXT_ATTRIBUTES:
            self._attribute_texts.element(tag, attributes)
        top = self._buffers[-1]
        if tag in _LINES:
            top = []
            if tag.startswith(_TEXT) and tag != _RUBY and (label := self._lists.label(tag, attributes)):
                self._hold(top, label + " ")
        elif tag == _CREATOR and self._comments and self._inside:
            top = []
        elif tag in _BREAKS or not tag.startswith(_IN_LINES):
            top = None
            self._structure(tag, attributes)
        elif top is not None:
            self._mark(top, tag, attributes)
        self._buffers.append(top)

    def _structure(self, tag: str, attributes: Attributes) -> None:
        if tag == _ROW:
            self._sinks.append([])
        elif tag in _CELLS:
            self._sinks.append([])
            self._values.append(_value(attributes))
        elif tag == _SPREADSHEET:
            self._sheets = True
        elif tag == _PRESENTATION:
            self._slides = True
        elif tag == _PAGE:
            self.pages += self._slides
        elif tag == _SHEET and self._sheets and (name := attributes.get(_TABLE + "name")):
            self._line(name)
        elif tag.startswith(FORM) and self._inside:
            self._attribute_texts.control(tag, attributes)

    def _mark(self, buffer: list[str], tag: str, attributes: Attributes) -> None:
        if tag == _TEXT + "s":
            count = attributes.get(_TEXT + "c", "1")
            self._hold(buffer, " " * (min(int(count), _MOST_SPACES) if count.isdecimal() and len(count) < 9 else 1))
        elif tag == _TEXT + "tab":
            self._hold(buffer, "\t")
        elif tag == _TEXT + "line-break":
            self._hold(buffer, "\n")

    def _hold(self, buffer: list[str], text: str) -> None:
        """Keep a piece of a line; of an endless line, what fits into memory."""
        room = _MOST_HELD - self._held
        self._held += len(text)
        if len(text) > room:
            text = text[: max(0, room)]
            self._collector.cut = True
        buffer.append(text)

    def data(self, text: str) -> None:
        top = self._buffers[-1]
        if top is not None:
            self._hold(top, _blanks(text))

    def end(self, tag: str) -> None:
        own = self._buffers.pop()
        if tag == _FORMULA and self._explained:  # its source has the same words
            self._held -= sum(map(len, own or ()))
            self._explained = False
        elif tag in _LINES:
            self._explained = self._explained or (tag == _SOURCE and any(own or ()))
            self._line("".join(own or ()))
        elif tag in _CELLS:
            self._line("\n".join(self._sinks.pop()) or self._values[-1])
            self._values.pop()
        elif tag == _ROW:
            self._line("\t".join(self._sinks.pop()))
        elif tag == _CREATOR and own is not None:
            self._attribute_texts.add(author := "".join(own))
            self._held -= len(author)
        elif tag == _ANNOTATION:
            self._comments -= 1
        elif tag in _HEADERS:
            self._inside -= 1
        elif tag == odf_lists.LIST:
            self._lists.end()
        elif tag == _TRACKED:
            self._lists = self._apart.pop()

    def walk(self, element: Element) -> None:
        """Process an element from its start to its end as the parser's events do, or until there is enough text (not
        deeper than libxml2 reads: 256)."""
        tag = element.tag
        if self._collector.cut or not isinstance(tag, str):  # an entity's name
            return
        if tag == _ROW and self._plain_row(element):
            return
        self.start(tag, element.attrib)
        if self._buffers[-1] is None:
            for child in element:
                self.walk(child)
        else:
            self._inline(element)
        if not self._collector.cut:
            self.end(tag)

    def _inline(self, element: Element) -> None:
        """Process an element whose own text counts."""
        if text := element.text:
            self.data(text)
        for child in element:
            self.walk(child)
            if text := child.tail:
                self.data(text)

    def _plain_row(self, row: Element) -> bool:
        """Take a row whose cells have at most one paragraph of plain text each; return False for any other row."""
        cells = list(row.iterchildren(*_CELLS))
        lines = list(row.iter(_PARAGRAPH))
        counts = [len(cell) for cell in cells]
        if sum(counts) != len(lines) or max(counts, default=0) > 1:
            return False
        if 0 in counts and any(
            not count and _VALUE_TYPE in cell.attrib for cell, count in zip(cells, counts, strict=True)
        ):
            return False
        if sum(1 for _ in row.iter()) != 1 + len(cells) + len(lines):
            return False
        texts = [_blanks(text) for line in lines if (text := line.text)]
        size = sum(map(len, texts))
        if self._held + size > _MOST_HELD:
            return False
        self._held += size
        self._line("\t".join([shown for text in texts if (shown := text.strip(" "))]))
        return True

    def _line(self, line: str) -> None:
        """Add a line to the row or cell around it, else to the collector."""
        shown = line.strip(" ")
        if self._sinks and shown:
            self._sinks[-1].append(shown)
            return
        self._held -= len(line)
        if shown and self._inside:
            self._collector.add(shown + "\n")

    def flush(self) -> None:
        """Add the held text of lines without end."""
        for sink in self._sinks:
            self._collector.add("\t".join(sink))
        for around, buffer in pairwise(self._buffers):
            if buffer is not around:  # an element in a paragraph shares its buffer
                self._collector.add("".join(buffer or ()))

    def add_rest(self) -> None:
        """Add the text from outside the paragraphs after the lines."""
        self._collector.lines(self._attribute_texts.lines)

    def check_rest(self) -> None:
        """Raise DocumentError if the text from outside the paragraphs is incomplete."""
        if self._attribute_texts.more:
            detail = (
                f"it has more than {MOST:,} link targets, form values and names of commenters; only the first are read"
            )
            raise too_large(detail)

    def close(self) -> None:
        """End the document; lxml calls it."""


def _value(attributes: Attributes) -> str:
    """Return the value of a cell without text (part 3, 19.385); durations as in LibreOffice."""
    kind = attributes.get(_VALUE_TYPE)
    if kind is None:
        return ""
    value = attributes.get(_VALUES.get(kind, _OFFICE + "value")) or ""
    duration = _DURATION.fullmatch(value) if kind == "time" else None
    if duration is None:
        return value
    days, hours, minutes = (int(number or 0) for number in duration.group(2, 3, 4))
    return f"{duration[1]}{24 * days + hours:02}:{minutes:02}:{(duration[5] or '0').zfill(2)}{duration[6] or ''}"


def _blanks(text: str) -> str:
    """Replace white space by one blank (part 3, 6.1.2)."""
    return text if text.isprintable() and "  " not in text else _BLANKS.sub(" ", text)


def read_text(
    pieces: Iterator[bytes],
    collector: Collector,
    lists: odf_lists.Lists | None = None,
    *,
    sheets: bool = False,
    headers_only: bool = False,
) -> int:
    """Read the lines of one XML part into the collector, with the numbers that lists generate (`lists` has those that
    another part defines); return the number of slides. `headers_only` reads only headers and footers of page styles.
    Readable text comes first, then DocumentError `corrupt` (or the errors of `pieces`). No entity is replaced and
    nothing outside the part is fetched."""
    target = _Lines(collector, lists, sheets=sheets, headers_only=headers_only)
    data, failed, more = gathered(pieces)
    root = None if failed or more or b"<!DOCTYPE" in data else _root(data)
    if root is None:
        try:
            _parse(target, chain([data], pieces), failed, collector)
        finally:
            target.add_rest()
        target.check_rest()
        return target.pages
    if headers_only:
        headers = root.iter(*_HEADERS)
        for header in headers:
            target.walk(header)
            deque(islice(headers, sum(1 for _ in header.iter(*_HEADERS)) - 1), maxlen=0)  # headers inside it
    else:
        target.walk(root)
    if collector.cut:
        target.flush()
    target.add_rest()
    target.check_rest()
    return target.pages


def _root(data: bytes) -> Element | None:
    """Return the root of a well-formed document; None for any other."""
    try:
        return etree.fromstring(data, etree.XMLParser(**PLAIN))
    except (etree.XMLSyntaxError, ValueError):
        return None


def _parse(target: _Lines, pieces: Iterator[bytes], failed: DocumentError | None, collector: Collector) -> None:
    untyped: Any = target  # the stubs require methods that lxml does not
    parser = etree.XMLParser(target=untyped, **PLAIN)
    fed = False
    try:
        for piece in pieces:
            if piece:
                parser.feed(piece)
                fed = True
            if collector.cut:
                target.flush()
                return
        if failed:
            raise failed
        if fed:
            parser.close()
    except etree.XMLSyntaxError as error:
        raise corrupt(f"a part is not well-formed XML: {str(error)[:200]}") from error
