"""Cells of a workbook as people see them, near enough: shared and inline strings, numbers, dates, percentages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from core.errors import DocumentError, ExceptionCode
from formats.office.ooxml import plain
from formats.office.ooxml.package import Package
from formats.office.ooxml.xml import Element, elements, local

# Built-in number formats that show dates or times (ECMA-376 part 1, 18.8.30, East Asian ones included).
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_NAMED_DATES = frozenset((15, 16, 17))  # with the month's name, cut short
_PERCENT = frozenset((9, 10))
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DATE = "date"  # how begins what `style_of` says of cells that show dates: `date`, `date Jan`, `date January Mon` …
SAID = "\t"  # before the words that a cell shows beside a positive number, those beside a negative one, and beside 0
_SHEETS = ("worksheet", "chartsheet", "dialogsheet", "macrosheet", "intlmacrosheet")
_ROW_CHARACTERS = 1_000_000
_EXACT = 16  # digits from which on a number may be another one in fifteen
_LOOKS = 4096  # kept in mind
_CODE_CHARACTERS = 255  # of a format code: as many as Excel takes
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|[_*].')  # parts of a format code that are not placeholders
# Codes of headers and footers: font, size, colour, what is filled in. Three begin the left, middle and right part.
_CODES = re.compile(r'&(?:"[^"]*"|\d+|K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|[A-Za-z&])')
_SHOWN = {"&&": "&", "&L": " ", "&C": " ", "&R": " "}
_NAMED_MONTH = re.compile(r"m{3,5}", re.IGNORECASE)
_NAMED_DAY = re.compile(r"d{3,4}", re.IGNORECASE)
# Of a format code: what stands in quotes, the sign of a currency, letters behind a backslash; and what ends a section.
_WORDS = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|((?:\\.)+)|[_*].|(;)')
_WORD = re.compile(r"[^\W\d_]{2,}")
_DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)


class Workbook:
    """What all sheets share. `load` may raise DocumentError; what was loaded before stays."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.strings: list[str] = []
        self.styles: list[str] = []  # for each cell format: what `style_of` says
        self._shown: dict[str, str] = {}
        self._looks: dict[str, tuple[str, str, str]] = {}
        self.start = datetime(1899, 12, 30)
        self.sheets: list[tuple[str, str]] = [("", name) for name in package.having(*_SHEETS)]
        self.gone: list[str] = []  # names of sheets that are not in the package
        self.lost = 0  # cells that show a shared string which is not there

    def load(self) -> None:
        """Sheets with their names, cell formats, shared strings."""
        self._sheets()
        for name in self._package.having("styles"):
            self._styles(name)
        for name in self._package.having("sharedstrings"):
            around = plain.Around(self._package.pieces(name))
            for some in plain.strings(around):
                self.strings += some
            for element in elements(around.pieces(), "si"):
                self.strings.append(_string(element))

    def damage(self) -> DocumentError | None:
        """What its sheets were found to lack, once they have been read."""
        return lost_strings(self.lost) if self.lost else None

    def shown(self, style: str) -> str:
        """How cells of this format, by its number, show theirs: as `style_of`."""
        known = self._shown.get(style)
        if known is not None:
            return known
        if not (style.isdecimal() and len(style) < 7 and int(style) < len(self.styles)):
            return ""
        return self._shown.setdefault(style, self.styles[int(style)])

    def look(self, attributes: str) -> tuple[str, str, str]:
        """Of a plain cell's attributes its type, the number of its format, and how cells of this show numbers."""
        known = self._looks.get(attributes)
        if known is None:
            kind, style = plain.look(attributes)
            if len(self._looks) >= _LOOKS:
                self._looks.clear()
            known = self._looks[attributes] = kind, style, self.shown(style)
        return known

    def _sheets(self) -> None:
        named: dict[str, str] = {}
        for main in self._package.having("main"):
            related = self._package.related(main)
            for element in elements(self._package.pieces(main), "sheet", "workbookPr"):
                if local(element) == "workbookPr":
                    if element.get("date1904") in ("1", "true"):
                        self.start = datetime(1904, 1, 1)
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
            self.styles += [style_of(number, custom.get(number, "")) for number in used]


def lost_strings(cells: int) -> DocumentError:
    """What is wrong with a workbook in which so many cells show strings by numbers that it does not have."""
    return DocumentError(ExceptionCode.CORRUPT, f"{cells:,} cells show strings that the workbook does not have")


def style_of(number: str, code: str) -> str:
    """How a cell format shows numbers: DATE and by which names, "percent" or ""; then SAID and its words, if it has any."""
    if code:
        code = code[:_CODE_CHARACTERS]
        said = _said(code) if '"' in code or "\\" in code or "[$" in code else ""
        return _kind(_LITERAL.sub("", code.split(";", 1)[0])) + said
    if not number.isdecimal() or len(number) > 4:
        return ""
    if int(number) in _DATES:
        return f"{DATE} Jan" if int(number) in _NAMED_DATES else DATE
    return "percent" if int(number) in _PERCENT else ""


def _kind(plain: str) -> str:
    """Of a section of a format code without its words."""
    if plain.lower() == "general" or not _DATE_LETTERS.search(plain):
        return "percent" if "%" in plain else ""
    month, day = _NAMED_MONTH.search(plain), _NAMED_DAY.search(plain)
    names = "" if month is None else " Jan" if len(month[0]) == 3 else " January"
    return DATE + names + ("" if day is None else " Mon" if len(day[0]) == 3 else " Monday")


def _said(code: str) -> str:
    """The words of a format code (ECMA-376 part 1, 18.8.31), by sections: for positive numbers, negative ones and 0, which
    show as the first does where they have no section of their own."""
    sections: list[list[str]] = [[]]
    for quoted, currency, escaped, end in _WORDS.findall(code):
        if end:
            sections.append([])
        else:
            sections[-1] += _WORD.findall(quoted or currency or escaped.replace("\\", ""))
    words = [" ".join(section) for section in (sections + sections[:1] * 2)[:3]]
    return SAID + SAID.join(words) if any(words) else ""


def with_words(shown: str, number: float, text: str) -> str:
    """The text of a number, and behind it the words that its cell shows with it: `12.5 dollars and cents`."""
    words = shown.split(SAID)
    word = words[1 if number > 0 else 2 if number < 0 else 3]
    return f"{text} {word}" if word else text


def _string(element: Element) -> str:
    """Text of a string item, and behind it how it is read (18.4.6), where it says that."""
    texts: tuple[list[str], list[str]] = [], []
    for t in element.iter("{*}t"):
        texts[local(t.getparent()) == "rPh"].append(t.text or "")
    return " ".join(filter(None, map("".join, texts)))


def lines(package: Package, name: str, title: str, book: Workbook) -> Iterator[str]:
    """The sheet's name, then its rows, cells apart by tabs, then what it prints above and below; empty cells and rows
    are left out."""
    if title:
        yield title
    around = plain.Around(package.pieces(name))
    for row in plain.rows(around):
        yield from _row(_plain_cells(row, book))
    for element in elements(around.pieces(), "row", "headerFooter"):
        if element.tag[-1:] == "r":
            yield from filter(None, (printed(child.text or "") for child in element))
            continue
        yield from _row(_cell(cell, book) for cell in element)


def _row(texts: Iterable[str]) -> Iterator[str]:
    """The cells of a row; one in which a long string stands again and again comes in several lines."""
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
    """A header or footer without its codes (ECMA-376 part 1, 18.3.1.39)."""
    return " ".join(_CODES.sub(lambda match: _SHOWN.get(match[0], ""), code).split())


def _cell(cell: Element, book: Workbook) -> str:
    """What a cell shows; tags are compared by their ends, as this runs for every cell."""
    value = ""
    for at in range(len(cell) - 1, -1, -1):  # the value is the last of its parts; a formula stands in front
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
    return _shown(cell.get("t") or "n", cell.get("s") or "0", value, book) if value else ""


def _plain_cells(cells: Sequence[plain.Cell], book: Workbook) -> Iterator[str]:
    """The same of cells that were told without a tree; the two kinds that most are at once, as this is most of a workbook's time."""
    strings, look = book.strings, book.look
    several = len(strings)
    for _, attributes, value, string in cells:
        if not (value or string):
            continue
        kind, style, shown = look(attributes)
        if kind == "s" and value.isdecimal() and len(value) < 10:
            if (at := int(value)) < several:
                yield strings[at]
            else:
                book.lost += 1
        elif kind == "n" and not shown and _is_whole(value):
            yield value
        else:
            yield _shown(kind, style, plain.plain(value or string), book)


def _shown(kind: str, style: str, value: str, book: Workbook) -> str:
    """What a cell of this type and format shows."""
    if kind == "n":
        return number_text(value, style, book)
    if kind == "s":
        if value.isdecimal() and len(value) < 10 and int(value) < len(book.strings):
            return book.strings[int(value)]
        book.lost += 1
        return ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    return value


def _is_whole(value: str) -> bool:
    """Whether a number is shown as it stands, where its format says nothing else."""
    return len(value) < _EXACT and value.isdecimal() and value.isascii() and value[0] != "0"


def number_text(value: str, style: str, book: Workbook) -> str:
    shown = book.shown(style)
    if not shown and _is_whole(value):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    if SAID in shown:
        return with_words(shown, number, _number_text(value, number, shown.partition(SAID)[0], book.start))
    return _number_text(value, number, shown, book.start)


def _number_text(value: str, number: float, shown: str, start: datetime) -> str:
    if shown.startswith(DATE) and 0 <= number < 2_958_466:  # the year 9999
        return date_text(number, start, shown)
    if shown == "percent":
        return f"{number * 100:.10g}%"
    return f"{number:.15g}" if abs(number) < 1e15 else value


def date_text(number: float, start: datetime, shown: str) -> str:
    """A serial date: days since the start, the time of day as a fraction. As ISO 8601 has it; where the cell shows the
    name of the month or day, that behind it, in English: by which one a search is made nobody knows."""
    text = _date_text(number, start)
    if shown == DATE or number < 1:
        return text
    names = {"J": _MONTHS[int(text[5:7]) - 1], "M": _DAYS[datetime.fromisoformat(text).weekday()]}
    return " ".join([text, *(names[kind[0]][: 3 if len(kind) == 3 else None] for kind in shown.split()[1:])])


def _date_text(number: float, start: datetime) -> str:
    days = int(number)
    if days == number and days > 0:
        return _day(days, start)
    seconds = round((number % 1) * 86400)
    text = (start + timedelta(days=days, seconds=seconds)).isoformat(" ")
    if number < 1:
        return text[11:]
    return text if seconds else text[:10]


@lru_cache(maxsize=4096)
def _day(days: int, start: datetime) -> str:
    return (start + timedelta(days=days)).isoformat()[:10]
