"""Cells of a workbook nearly as Excel shows them: shared and inline strings, numbers, dates, percentages."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from readers.errors import DocumentError, corrupt
from readers.office.cell_formats import Styles, is_whole, number_text, text_format, whole_as_it_is
from readers.office.ooxml.kinds import WORKBOOK
from readers.office.ooxml.package import Package
from readers.office.ooxml.parts import line_of
from readers.office.ooxml.xml import Element, elements, local

# Rows of a sheet and shared strings in the form that programs usually write, parsed by regular expressions; a tree of
# them costs several times as much.

_T = TypeVar("_T")
Cell = tuple[str, str, str, str, str]  # its XML, its attributes except the first, its formula, its value, its string
_HEAD_BYTES = 1_000_000  # the most before the first row or string
_UNIT_BYTES = 4_000_000  # a longer unit is not a plain row
_ENCODING = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"']([^\"']*)")
_PLAIN_ENCODINGS = (b"utf-8", b"us-ascii")
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r")  # not allowed in XML (XML 1.0, 2.2)
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# References to characters with names in XML, and by number to those below U+0080 that XML allows.
_DECIMAL = "0{0,3}(?:9|10|13|3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-7])"  # PHP writes `&#039;`
_ENTITY = f"amp;|lt;|gt;|quot;|apos;|#(?:{_DECIMAL}|x(?:[9aAdD]|[2-7][0-9a-fA-F]));"
_NO_ENTITY = re.compile(f"&(?!{_ENTITY})")
_ROWS_IN, _STRINGS_IN = re.compile(rb"<sheetData>"), re.compile(rb"<sst(?: [^>]*)?>")
# Nothing below is read twice (`*+`, and `|)` for optional parts), which takes half the time. Other text is not
# parsed here.
_BLANK = "[ \t\n]*+"
_ATTRIBUTE = '(?: [a-wyzA-Z][a-zA-Z0-9]*+="[^"<]*+"|(?!))'  # none in the namespace of XML, and no prefix; `(?!)`: tests/unit/test_patterns.py
_PRESERVE = '(?: xml:space="preserve"|)'
_T_OF = f"<t{_PRESERVE}(?:/>|>%s</t>)"
_TEXT, _SOME_TEXT = _T_OF % "([^<]*+)", _T_OF % "[^<]*+"
_ROW = f"{_BLANK}<row(?:{_ATTRIBUTE}%s|(?!))*+(/?)>{_BLANK}"
_ROWS = (re.compile(_ROW % ""), re.compile(_ROW % '| x14ac:dyDescent="[^"<]*+"'))
_CELL = re.compile(
    '(<c(?: r="[A-Z]{1,3}[0-9]{1,7}"|)((?: [a-z]{1,2}="[^"<]*+"|(?!))*+)'
    f"(?:/>|>(?:<f{_ATTRIBUTE}*+(?:/>|>([^<]*+)</f>)|)"
    f"(?:<v{_PRESERVE}>([^<]*+)</v>|<v/>|<is>{_TEXT}</is>|)</c>){_BLANK})"
)
_RUNS = f"(?:<r>(?:<rPr>(?:<[a-zA-Z]++{_ATTRIBUTE}*+/>|(?!))*+</rPr>|){_SOME_TEXT}</r>|(?!))++"
_STRING = re.compile(f"<si(?:/>|>(?:{_TEXT}|({_RUNS})|)(?:<phoneticPr{_ATTRIBUTE}*+/>|)</si>){_BLANK}")
_OF_RUN = re.compile(_TEXT)
_LOOK = re.compile(' ([a-z]{1,2})="([^"]*)"')


class Around:
    """The part around the rows or strings that were parsed."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._head = self.waiting = b""  # read, but not parsed
        self._failed: DocumentError | None = None

    def more(self) -> bool:
        """Read on; return False at the end, or if it breaks off."""
        try:
            piece = next(self._pieces, b"")
        except DocumentError as error:
            self._failed = error
            return False
        self.waiting += piece
        return bool(piece)

    def enter(self, tag: re.Pattern[bytes]) -> bool:
        """Return whether the content of this element may be parsed here; if so, it becomes `waiting`."""
        while (found := tag.search(self.waiting)) is None:
            if len(self.waiting) > _HEAD_BYTES or not self.more():
                return False
        head, below = self.waiting[: found.end()], self.waiting[found.end() :]
        encoding = _ENCODING.search(head)
        if head.endswith(b"/>") or b"<!" in head or b"Fallback" in head or b"\0" in head:
            return False
        if encoding is not None and encoding[1].lower() not in _PLAIN_ENCODINGS:
            return False
        self._head, self.waiting = head, below
        return True

    def declares(self, prefix: bytes) -> bool:
        """Return whether a namespace prefix is declared before the content."""
        return b"xmlns:%s=" % prefix in self._head

    def taken(self, end: bytes) -> str:
        """Return and remove the waiting text, up to the last such end, for parsing; "" if that is not possible."""
        while (at := self.waiting.rfind(end)) < 0:
            if len(self.waiting) > _UNIT_BYTES or not self.more():
                return ""
        at += len(end)
        some = self.waiting[:at]
        if b"\r" in some:  # XML has one kind of line end (XML 1.0, 2.11)
            some = some.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"<!" in some or b"]]>" in some or any(one in some for one in _NONCHARACTERS):
            return ""
        if len(some.translate(None, _CONTROLS)) != len(some):
            return ""
        try:
            text = some.decode("utf-8")
        except UnicodeDecodeError:
            return ""
        if "&" in text and _NO_ENTITY.search(text):
            return ""
        self.waiting = self.waiting[at:]
        return text

    def give_back(self, text: str) -> None:
        """Put back the text that could not be parsed."""
        self.waiting = text.encode() + self.waiting

    def pieces(self) -> Iterator[bytes]:
        """Yield the part without the parsed text."""
        yield self._head + self.waiting
        self._head = self.waiting = b""
        if self._failed is not None:
            raise self._failed
        yield from self._pieces


def _parsed(around: Around, end: bytes, parse: Callable[[str, int], tuple[_T | None, int]]) -> Iterator[_T]:
    """Yield the results of `parse` for each piece of the waiting text, until it stops before one."""
    while text := around.taken(end):
        at = 0
        while at < len(text):
            made, stop = parse(text, at)
            if stop <= at:
                around.give_back(text[at:])
                return
            at = stop
            if made is not None:
                yield made


def plain_rows(around: Around) -> Iterator[list[Cell]]:
    """Yield the cells of each row, row by row."""
    if not around.enter(_ROWS_IN):
        return
    begins = _ROWS[around.declares(b"x14ac")].match

    def row(text: str, at: int) -> tuple[list[Cell] | None, int]:
        begin = begins(text, at)
        if begin is None:
            return None, at
        if begin[1]:
            return None, begin.end()
        end = text.find("</row>", begin.end())
        cells: list[Cell] = _CELL.findall(text, begin.end(), end)
        if end < 0 or sum([len(cell[0]) for cell in cells]) != end - begin.end():
            return None, at
        return cells, end + 6

    yield from _parsed(around, b"</row>", row)


def plain_strings(around: Around) -> Iterator[list[str]]:
    """Yield shared strings, many at a time."""
    if not around.enter(_STRINGS_IN):
        return

    def some(text: str, at: int) -> tuple[list[str] | None, int]:
        strings: list[str] = []
        for match in _STRING.finditer(text, at):
            if match.start() != at:
                break
            strings.append(referred(match[1] or ("".join(_OF_RUN.findall(match[2])) if match[2] else "")))
            at = match.end()
        return strings, at

    yield from _parsed(around, b"</si>", some)


def referred(text: str) -> str:
    """Return text with character references replaced."""
    return html.unescape(text) if "&" in text else text


def type_and_format(attributes: str) -> tuple[str, str]:
    """Return type and number of the format from a cell's attributes."""
    values = dict(_LOOK.findall(attributes))
    return referred(values.get("t", "")) or "n", referred(values.get("s", "")) or "0"


_SHEETS = ("worksheet", "chartsheet", "dialogsheet", "macrosheet", "intlmacrosheet")
_TEXTS = ("s", "str", "inlineStr")  # types of cells that are texts
_TRUE, _NO_RESULT = ("1", "true"), ("0", "0.0")
_FORMULA_CHARACTERS = 8_192  # Excel's limit
_STRINGS = re.compile(r'"((?:[^"]++|""|(?!))*+)"')
# Other texts of a sheet in attributes: prompts of cells (18.3.1.32), tool tips of links (18.3.1.47), scenarios with their values (18.3.1.76), what
# filters and conditional formats look for (18.3.2.6, 18.3.1.10), sources of a consolidation (18.3.1.29).
_ASIDE = {
    "dataValidation": ("promptTitle", "prompt", "errorTitle", "error"),
    "hyperlink": ("tooltip",),
    "scenario": ("name", "comment", "user"),
    "inputCells": ("val",),
    "protectedRange": ("name",),
    "webPublishItem": ("title",),
    **dict.fromkeys(("filter", "customFilter"), ("val",)),
    "cfRule": ("text",),
    "dataRef": ("sheet", "name"),
}
_ROW_CHARACTERS = 1_000_000
_LOOKS = 4096  # kept
# Codes of headers and footers: font, size, colour, fields. Three begin the left, middle and right part.
_CODES = re.compile(r'&(?:"[^"]*"|\d+|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|[A-Za-z&])')
_SHOWN = {"&&": "&", "&L": " ", "&C": " ", "&R": " "}


class Workbook:
    """Common data of all sheets. `load` may raise DocumentError; what was loaded before is kept."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.strings: list[str] = []
        self.styles = Styles()
        self._shown: dict[str, str] = {}
        self.looks: dict[str, tuple[str, str, str]] = {}  # results of `look`
        self.start = datetime(1899, 12, 30)
        self.sheets: list[tuple[str, str]] = [("", name) for name in package.having(*_SHEETS)]
        self.own_words: dict[str, None] = {}  # lines of the workbook's own words, each once
        self.gone: list[str] = []  # names of sheets that are not in the package
        # Whether its program stores no results of formulas and leaves them to the program that opens it.
        self.unkept = False
        self.lost = 0  # cells that refer to a missing shared string

    def load(self) -> None:
        """Load sheets with their names, cell formats, shared strings."""
        self._sheets()
        for name in self._package.having("styles"):
            self._styles(name)
        for name in self._package.having("sharedstrings"):
            around = Around(self._package.pieces(name))
            for some in plain_strings(around):
                self.strings += some
            for element in elements(around.pieces(), "si"):
                self.strings.append(_string(element))

    def damage(self) -> DocumentError | None:
        """Return the damage of the sheets, after they were read."""
        return lost_strings(self.lost) if self.lost else None

    def shown(self, style: str) -> str:
        """Return how cells of this format, by its number, are shown: a result of `style_of`."""
        known = self._shown.get(style)
        if known is not None:
            return known
        if not (style.isdecimal() and len(style) < 7 and int(style) < len(self.styles)):
            return ""
        return self._shown.setdefault(style, self.styles[int(style)])

    def look(self, attributes: str) -> tuple[str, str, str]:
        """Return, from a plain cell's attributes, its type (`w` for a number that is shown unchanged if it is whole),
        the number of its format, and how cells of that format show numbers."""
        known = self.looks.get(attributes)
        if known is None:
            kind, style = type_and_format(attributes)
            if len(self.looks) >= _LOOKS:
                self.looks.clear()
            kind, shown = self.kind(kind, style), self.shown(style)
            known = self.looks[attributes] = "w" if kind == "n" and whole_as_it_is(shown) else kind, style, shown
        return known

    def kind(self, kind: str, style: str) -> str:
        """Return the type of a cell; prefixed by a sign if its format shows more of a text than the text."""
        if (
            self.styles.texts
            and kind in _TEXTS
            and style.isdecimal()
            and len(style) < 7
            and int(style) in self.styles.texts
        ):
            return f"@{kind}"
        return kind

    def _sheets(self) -> None:
        named: dict[str, str] = {}
        for main in self._package.having("main"):
            related = self._package.related(main)
            for element in elements(self._package.pieces(main), "sheet", "workbookPr", "calcPr", *WORKBOOK):
                kind = local(element)
                if kind in WORKBOOK:
                    if line := line_of(element, WORKBOOK):
                        self.own_words[line] = None
                    continue
                if kind != "sheet":
                    if element.get("date1904") in _TRUE:
                        self.start = datetime(1904, 1, 1)
                    self.unkept = self.unkept or element.get("fullCalcOnLoad") in _TRUE
                    continue
                for key, identifier in element.attrib.items():
                    if str(key).endswith("}id") and str(identifier) in related:
                        named.setdefault(related[str(identifier)], element.get("name", ""))
        known, there = {name for _, name in self.sheets}, set(self._package.names)
        self.gone = [title for name, title in named.items() if name not in there]
        listed = [(title, name) for name, title in named.items() if name in known]
        self.sheets = listed + [(title, name) for title, name in self.sheets if name not in named]

    def _styles(self, name: str) -> None:
        custom: dict[str, str] = {}
        used: list[str] = []
        try:
            for element in elements(self._package.pieces(name), "numFmt", "cellXfs"):
                if local(element) == "numFmt":
                    custom[element.get("numFmtId", "")] = element.get("formatCode", "")
                else:
                    used += [cell.get("numFmtId", "") for cell in element]
        finally:
            for number in used:
                self.styles.take(number, custom.get(number, ""))


def lost_strings(cells: int) -> DocumentError:
    """Return the error of a workbook in which so many cells refer to missing strings."""
    return corrupt(f"{cells:,} cells refer to strings that are missing from the workbook")


def _string(element: Element) -> str:
    """Return the text of a string item, followed by its phonetic reading (18.4.6), if it has one."""
    texts: tuple[list[str], list[str]] = [], []
    for t in element.iter("{*}t"):
        texts[local(t.getparent()) == "rPh"].append(t.text or "")
    return " ".join(filter(None, map("".join, texts)))


def comments(package: Package, name: str) -> Iterator[str]:
    """Yield the authors of the comments of a sheet, each once, then the comments (18.7). LibreOffice writes the
    position of the box after the text of a comment."""
    for element in elements(package.pieces(name), "author", "comment"):
        if local(element) == "author":
            text = "".join(piece for piece in element.itertext() if isinstance(piece, str))
        else:
            text = "".join(map(_string, element.iterchildren("{*}text")))
        if text := text.strip():
            yield text


def lines(package: Package, name: str, title: str, book: Workbook) -> Iterator[str]:
    """Yield the sheet's name, then its rows, cells separated by tabs, then prompts of cells, and printed headers and
    footers; empty cells and rows are omitted."""
    if title:
        yield title
    known: set[str] = set()
    around = Around(package.pieces(name))
    for row in plain_rows(around):
        yield from _plain_row(row, book)
    for element in elements(around.pieces(), "row", "headerFooter", "formula1", *_ASIDE):
        name = local(element)
        if name == "row":
            yield from _row(_cell(cell, book) for cell in element)
        elif name == "headerFooter":
            yield from filter(None, (printed(child.text or "") for child in element))
        else:
            texts = [_choices(element)] if name == "formula1" else map(element.get, _ASIDE[name])
            for text in texts:
                if text and (text := text.strip()) and text not in known:
                    known.add(text)
                    yield text


def _choices(formula: Element) -> str:
    """Return the choices for a cell, if they are listed here."""
    text = "".join(piece for piece in formula.itertext() if isinstance(piece, str)).strip()
    return text.strip('"') if text.startswith('"') else ""


def _row(texts: Iterable[str]) -> Iterator[str]:
    """Yield the cells of a row; a row that repeats a long string comes in several lines."""
    cells: list[str] = []
    characters = 0
    for text in texts:
        if text:
            cells.append(text)
            characters += len(text)
            if characters > _ROW_CHARACTERS:
                yield "\t".join(cells)
                cells, characters = [], 0
    if cells:
        yield "\t".join(cells)


def printed(code: str) -> str:
    """Return a header or footer without its codes (ECMA-376 part 1, 18.3.1.39)."""
    return " ".join(_CODES.sub(lambda match: _SHOWN.get(match[0], ""), code).split())


def _cell(cell: Element, book: Workbook) -> str:
    """Return what a cell shows; tags are compared by their ends, because this runs for every cell."""
    value = ""
    for at in range(len(cell) - 1, -1, -1):  # the value is the last of its parts; a formula comes before it
        child = cell[at]
        tag = str(child.tag)
        if tag[-1:] == "v":
            value = child.text or ""
            if len(child):  # `inlineStr` wrongly written; Excel shows it
                value = _string(child)
            break
        if tag[-2:] == "is":
            value = _string(child)
            break
    style, kind = cell.get("s") or "0", cell.get("t") or "n"
    shown = _shown(book.kind(kind, style), style, value, book) if value else ""
    if len(cell) and local(cell[0]) == "f" and (formula := cell[0].text):
        return _with_formula(formula, kind, value, shown, book)
    return shown


def _with_formula(formula: str, kind: str, value: str, shown: str, book: Workbook) -> str:
    """Return what the cell of a formula shows, followed by the formula's strings if no result was kept (some programs
    store 0 then); for a link always, because it shows no address."""
    unkept = (not value and kind.lstrip("@") != "str") or (book.unkept and value in _NO_RESULT)
    if not unkept and "HYPERLINK(" not in formula:
        return shown
    found = dict.fromkeys(_STRINGS.findall(formula[:_FORMULA_CHARACTERS]))
    return " ".join(filter(None, (shown, *(text.replace('""', '"') for text in found if text != shown))))


def _plain_row(cells: Sequence[Cell], book: Workbook) -> Iterator[str]:
    """Yield lines like `_row`, for cells that were parsed without a tree. A loop with few calls for the most frequent
    kinds, because this takes most of a workbook's time."""
    strings, looks, start = book.strings, book.looks, book.start
    several, characters = len(strings), 0
    out: list[str] = []
    for _, attributes, formula, value, string in cells:
        if formula and (not value or value in _NO_RESULT or "HYPERLINK(" in formula):
            kind, style, _ = book.look(attributes)
            value = referred(value or string)
            text = _shown("n" if kind == "w" else kind, style, value, book) if value else ""
            text = _with_formula(referred(formula), kind, value, text, book)
        elif not (value or string):
            continue
        else:
            kind, style, shown = looks.get(attributes) or book.look(attributes)
            if kind == "s" and value.isdecimal() and len(value) < 10:
                if (at := int(value)) < several:
                    text = strings[at]
                else:
                    book.lost += 1
                    continue
            elif kind == "w" and value.isdecimal() and is_whole(value):
                text = value
            elif kind in ("w", "n"):
                text = number_text(referred(value or string), shown, start)
            else:
                text = _shown(kind, style, referred(value or string), book)
        if text:
            out.append(text)
            characters += len(text)
            if characters > _ROW_CHARACTERS:
                yield "\t".join(out)
                out, characters = [], 0
    if out:
        yield "\t".join(out)


def _shown(kind: str, style: str, value: str, book: Workbook) -> str:
    if kind == "n":
        return number_text(value, book.shown(style), book.start)
    if kind[0] == "@":
        text, form = _shown(kind[1:], style, value, book), text_format(book.shown(style))
        return form.text(text) if form is not None and text else text
    if kind == "s":
        if value.isdecimal() and len(value) < 10 and int(value) < len(book.strings):
            return book.strings[int(value)]
        book.lost += 1
        return ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    return value
