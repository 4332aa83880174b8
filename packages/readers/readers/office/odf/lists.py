"""Numbers and letters that lists and headings of OpenDocument generate (OASIS OpenDocument 1.3 part 3, 5.3, 16.31,
16.34).

Starts and ends of elements drive it. LibreOffice is the reference: nested lists count as one outline, and an item that
only contains an inner list has no number."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree
from msgspec import Struct, field

from readers.office import counting as numerals
from readers.office.counting import LONGEST
from readers.office.ooxml.xml import Element

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
LIST, _ITEM, _HEADER, HEADING = (_TEXT + name for name in ("list", "list-item", "list-header", "h"))
_LISTS, _OUTLINE = _TEXT + "list-style", _TEXT + "outline-style"
_LEVELS = frozenset((_TEXT + "list-level-style-number", _TEXT + "outline-level-style"))
TAGS = frozenset((LIST, _ITEM, _HEADER, _LISTS, _OUTLINE, *_LEVELS))
_DEEPEST = 10
_FORMS: dict[str, Callable[[int], str]] = {
    "a": numerals.alphabetic,
    "A": lambda number: numerals.alphabetic(number).upper(),
    "i": numerals.roman,
    "I": lambda number: numerals.roman(number).upper(),
}


class _Level(Struct, frozen=True):
    form: str = ""  # nothing for levels without a number
    synchronous: bool = False  # aa after z, then bb, not ab
    before: str = ""
    behind: str = ""
    shown: int = 1  # number of levels in the label: this one and those above
    start: int = 1

    def written(self, number: int) -> str:
        if self.synchronous and self.form in ("a", "A"):
            letters = numerals.letters(number)
            return letters.upper() if self.form == "A" else letters
        write = _FORMS.get(self.form)
        return write(number) if write else str(number)


class _Open(Struct):
    style: str
    counts: dict[int, int]
    waiting: bool = False  # for the paragraph that gets the item's number
    start: int | None = None


class Lists(Struct):
    """Lists of one document."""

    _styles: dict[str, dict[int, _Level]] = field(default_factory=dict)
    _outline: dict[int, _Level] = field(default_factory=dict)
    _defined: dict[int, _Level] = field(default_factory=dict)  # the list that is being defined
    _open: list[_Open] = field(default_factory=list)
    _headings: dict[int, int] = field(default_factory=dict)
    _by_style: dict[str, dict[int, int]] = field(default_factory=dict)  # counts of the last list in it
    _by_name: dict[str, dict[int, int]] = field(default_factory=dict)

    def define(self, style: Element) -> None:
        """Define a list style, or the style of headings."""
        self.start(str(style.tag), style.attrib)
        for level in style:
            if level.tag in _LEVELS:
                self.start(str(level.tag), level.attrib)

    def start(self, tag: str, attributes: dict[str, str] | etree._Attrib) -> None:
        """Begin an element of TAGS."""
        if tag == LIST:
            self._enter(attributes)
        elif tag in (_ITEM, _HEADER):
            if self._open:
                self._open[-1].waiting = tag == _ITEM
                self._open[-1].start = _number(attributes.get(_TEXT + "start-value"), None)
        elif tag == _LISTS:
            self._defined = self._styles.setdefault(attributes.get(_STYLE + "name", ""), {})
        elif tag == _OUTLINE:
            self._defined = self._outline
        else:
            self._defined[_number(attributes.get(_TEXT + "level"), 1) or 1] = _Level(
                attributes.get(_STYLE + "num-format", ""),
                attributes.get(_STYLE + "num-letter-sync") == "true",
                attributes.get(_STYLE + "num-prefix", "")[:LONGEST],
                attributes.get(_STYLE + "num-suffix", "")[:LONGEST],
                _number(attributes.get(_TEXT + "display-levels"), 1) or 1,
                _number(attributes.get(_TEXT + "start-value"), 1) or 0,
            )

    def _enter(self, attributes: dict[str, str] | etree._Attrib) -> None:
        outer = self._open[-1] if self._open else None
        style = attributes.get(_TEXT + "style-name") or (outer.style if outer else "")
        counts: dict[int, int] = {}
        if outer is not None:
            counts = outer.counts
        elif attributes.get(_TEXT + "continue-numbering") == "true":
            counts = self._by_style.get(style, counts)
        elif (name := attributes.get(_TEXT + "continue-list")) is not None:
            counts = self._by_name.get(name, counts)
        self._by_style[style] = self._by_name[attributes.get(_ID, "")] = counts
        self._open.append(_Open(style, counts))

    def end(self) -> None:
        """End a list."""
        if self._open:
            self._open.pop()

    def label(self, tag: str, attributes: dict[str, str] | etree._Attrib) -> str:
        """Return the label of a paragraph or heading that begins; "" for one without a number."""
        if self._open:
            now = self._open[-1]
            if not now.waiting:
                return ""
            now.waiting = False
            return _counted(self._styles.get(now.style, {}), now.counts, len(self._open), now.start)
        if tag != HEADING or not self._outline or attributes.get(_TEXT + "is-list-header") == "true":
            return ""
        at = min(_number(attributes.get(_TEXT + "outline-level"), 1) or 1, _DEEPEST)
        return _counted(self._outline, self._headings, at, _number(attributes.get(_TEXT + "start-value"), None))


def _counted(levels: dict[int, _Level], counts: dict[int, int], at: int, start: int | None) -> str:
    """Count one more at this level; return its label."""
    level = levels.get(at, _Level())
    if start is not None:
        counts[at] = start
    else:
        counts[at] = counts[at] + 1 if at in counts else level.start
    for deeper in [other for other in counts if other > at]:
        del counts[deeper]
    if not level.form:
        return ""
    shown = range(max(1, at - min(level.shown, _DEEPEST) + 1), at + 1)
    written = ((levels.get(n, _Level()), counts.get(n, levels.get(n, _Level()).start)) for n in shown)
    numbers = ".".join([one.written(number) for one, number in written if one.form])
    return f"{level.before}{numbers}{level.behind}".strip()


def _number(text: str | None, default: int | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else default
