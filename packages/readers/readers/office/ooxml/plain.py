"""Rows of a sheet and shared strings in the form that programs usually write, parsed by regular expressions; a tree of
them costs several times as much.

The leading rows or strings of a part that have this form (ECMA-376 part 1, 18.3.1.73, 18.3.1.4, 18.4.8) are parsed
here. The rest of the part, with the XML around them, is left to the XML parser, which reports its errors. Nothing is
accepted here that XML would reject, except a repeated attribute.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from readers.errors import DocumentError

_T = TypeVar("_T")
Cell = tuple[str, str, str, str, str]  # its XML, its attributes but the first, its formula, its value, its string
_HEAD_BYTES = 1_000_000  # the most before the first row or string
_UNIT_BYTES = 4_000_000  # what is longer is no plain row
_ENCODING = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"']([^\"']*)")
_PLAIN_ENCODINGS = (b"utf-8", b"us-ascii")
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\r")  # which XML has not (XML 1.0, 2.2)
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# References to the characters that XML has names for, and by number to those below U+0080 that it has.
_DECIMAL = "0{0,3}(?:9|10|13|3[2-9]|[4-9][0-9]|1[01][0-9]|12[0-7])"  # PHP writes `&#039;`
_ENTITY = f"amp;|lt;|gt;|quot;|apos;|#(?:{_DECIMAL}|x(?:[9aAdD]|[2-7][0-9a-fA-F]));"
_NO_ENTITY = re.compile(f"&(?!{_ENTITY})")
_ROWS_IN, _STRINGS_IN = re.compile(rb"<sheetData>"), re.compile(rb"<sst(?: [^>]*)?>")
# Nothing below is read twice (`*+`, and `|)` for optional parts), which takes half the time. What does not fit is not
# parsed here.
_BLANK = "[ \t\n]*+"
_ATTRIBUTE = '(?: [a-wyzA-Z][a-zA-Z0-9]*+="[^"<]*+"|(?!))'  # none of XML's own, and no prefix; `(?!)`: tests/unit/test_patterns.py
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
    """The part without the rows or strings that were parsed: the XML around them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._head = self.waiting = b""  # read, and not parsed
        self._failed: DocumentError | None = None

    def more(self) -> bool:
        """Read on; False at the end, or where it breaks off."""
        try:
            piece = next(self._pieces, b"")
        except DocumentError as error:
            self._failed = error
            return False
        self.waiting += piece
        return bool(piece)

    def enter(self, tag: re.Pattern[bytes]) -> bool:
        """Whether the content of this element may be parsed here; if so, it becomes `waiting`."""
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
        """Whether a prefix of names is known below."""
        return b"xmlns:%s=" % prefix in self._head

    def taken(self, end: bytes) -> str:
        """Return and remove what is waiting, up to the last such end, for parsing; "" where that is not possible."""
        while (at := self.waiting.rfind(end)) < 0:
            if len(self.waiting) > _UNIT_BYTES or not self.more():
                return ""
        at += len(end)
        some = self.waiting[:at]
        if b"\r" in some:  # XML knows one end of lines (XML 1.0, 2.11)
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
        """The part without the parsed text."""
        yield self._head + self.waiting
        self._head = self.waiting = b""
        if self._failed is not None:
            raise self._failed
        yield from self._pieces


def _told(around: Around, end: bytes, tell: Callable[[str, int], tuple[_T | None, int]]) -> Iterator[_T]:
    """Yield the results of `tell` for each piece of the waiting text, until it stops before one."""
    while text := around.taken(end):
        at = 0
        while at < len(text):
            made, stop = tell(text, at)
            if stop <= at:
                around.give_back(text[at:])
                return
            at = stop
            if made is not None:
                yield made


def rows(around: Around) -> Iterator[list[Cell]]:
    """The cells of each row, row by row."""
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

    yield from _told(around, b"</row>", row)


def strings(around: Around) -> Iterator[list[str]]:
    """Shared strings, many at a time."""
    if not around.enter(_STRINGS_IN):
        return

    def some(text: str, at: int) -> tuple[list[str] | None, int]:
        told: list[str] = []
        for match in _STRING.finditer(text, at):
            if match.start() != at:
                break
            told.append(plain(match[1] or ("".join(_OF_RUN.findall(match[2])) if match[2] else "")))
            at = match.end()
        return told, at

    yield from _told(around, b"</si>", some)


def plain(text: str) -> str:
    """Characters with what stands for them put in."""
    return html.unescape(text) if "&" in text else text


def look(attributes: str) -> tuple[str, str]:
    """Of a cell's attributes its type and the number of its format."""
    told = dict(_LOOK.findall(attributes))
    return plain(told.get("t", "")) or "n", plain(told.get("s", "")) or "0"
