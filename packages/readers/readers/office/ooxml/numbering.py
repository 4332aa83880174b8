"""The numbers and letters that Word's lists generate (ECMA-376 part 1, 17.9): `4.2(b)` is in no paragraph, but is what
people cite.

A paragraph belongs to a list directly or by its style. A list is an instance (w:num) of a definition (w:abstractNum) of
nine levels. Instances of one definition share their counts unless one defines its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from readers.office.counting import LEVELS, LONGEST, MOST, Counts, Level
from readers.office.ooxml.package import Package
from readers.office.ooxml.xml import Element, elements, local

_BASES = 50  # styles that are based on one another
_PLACE = re.compile("%([1-9])")


@dataclass(slots=True)
class _Definition:
    levels: dict[int, Level] = field(default_factory=dict)
    elsewhere: str = ""  # the numbering style that defines its levels


@dataclass(slots=True)
class _Instance:
    definition: str
    starts: dict[int, int] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)  # in place of the definition's


@dataclass(frozen=True, slots=True)
class _Style:
    number: str | None  # of the instance
    level: int | None
    based_on: str


class Lists:
    """The lists of a document."""

    def __init__(self, package: Package) -> None:
        """Raise DocumentError where the part that defines them is damaged."""
        self._definitions: dict[str, _Definition] = {}
        self._instances: dict[str, _Instance] = {}
        self._styles: dict[str, _Style] = {}
        self._by_style: dict[str, tuple[str, int] | None] = {}  # where paragraphs in them are
        self._default = ""  # style of paragraphs that name none
        self._english = True
        for name in _parts(package, "numbering"):
            self._read(package, name)
        self.any = any(level.form != "bullet" for one in self._definitions.values() for level in one.levels.values())
        if self.any:
            for name in _parts(package, "styles"):
                self._read_styles(package, name)

    def _read(self, package: Package, name: str) -> None:
        for element in elements(package.pieces(name), "abstractNum", "num"):
            if local(element) == "num":
                self._instances[_attribute(element, "numId")] = _instance(element)
            else:
                link = _child(element, "numStyleLink")
                levels = dict(_levels(element))
                self._definitions[_attribute(element, "abstractNumId")] = _Definition(levels, _attribute(link, "val"))

    def _read_styles(self, package: Package, name: str) -> None:
        for element in elements(package.pieces(name), "style", "lang"):
            if local(element) == "lang":
                if next(element.iterancestors("{*}rPrDefault"), None) is not None:
                    self._english = _attribute(element, "val").lower().partition("-")[0] in ("", "en")
                continue
            identity = _attribute(element, "styleId")
            number, level = _own(_child(element, "pPr"))
            self._styles[identity] = _Style(number, level, _attribute(_child(element, "basedOn"), "val"))
            if _attribute(element, "type") == "paragraph" and _attribute(element, "default") in ("1", "true", "on"):
                self._default = identity

    def place(self, paragraph: Element) -> tuple[str, int] | None:
        """The instance and the level that a paragraph is on; None for one that is not of a list."""
        about = paragraph[0] if len(paragraph) and local(paragraph[0]) == "pPr" else None
        number, level = _own(about)
        style = _attribute(_child(about, "pStyle"), "val") or self._default
        if number is None:
            if style not in self._by_style:
                self._by_style[style] = self._of_style(style)
            if (by_style := self._by_style[style]) is None:
                return None
            number, level = by_style[0], by_style[1] if level is None else level
        return (number, level or 0) if number in self._instances else None

    def _of_style(self, name: str) -> tuple[str, int] | None:
        """The same of a style, by itself or by one that it is based on."""
        level: int | None = None
        at = name
        for _ in range(_BASES):
            if (style := self._styles.get(at)) is None:
                break
            level = style.level if level is None else level
            if style.number is not None:
                return style.number, self._level_of(style.number, name) if level is None else level
            at = style.based_on
        return None

    def _level_of(self, number: str, style: str) -> int:
        """Which level of an instance is a style's (17.9.23)."""
        if number not in self._instances:
            return 0
        return next((at for at, level in self.levels(number)[1].items() if level.style == style), 0)

    def levels(self, number: str) -> tuple[str, dict[int, Level]]:
        """The definition of an instance, by the name under which it counts, and its levels."""
        instance = self._instances[number]
        name = instance.definition
        definition = self._definitions.get(name, _Definition())
        if definition.elsewhere and (style := self._styles.get(definition.elsewhere)) is not None:
            linked = self._instances.get(style.number or "")
            if linked is not None and linked.definition in self._definitions:
                name, definition = linked.definition, self._definitions[linked.definition]
        return name, {**definition.levels, **instance.levels}

    def starts(self, number: str) -> dict[int, int]:
        """By level, where an instance starts to count by itself."""
        return self._instances[number].starts

    @property
    def english(self) -> bool:
        """Whether numbers that are words are English ones."""
        return self._english


class Counting:
    """Counts through one part."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._counts = Counts(english=lists.english)
        self._known: dict[str, tuple[str, dict[int, Level]]] = {}  # levels of the instances that were met

    def label(self, paragraph: Element) -> str:
        """Return the label of a paragraph; "" for one that is not numbered."""
        place = self._lists.place(paragraph)
        if place is None:
            return ""
        of, levels = self._entered(place[0])
        return self._counts.label(of, levels, place[1])

    def _entered(self, number: str) -> tuple[str, dict[int, Level]]:
        """Return the definition by which an instance counts, and its levels. Levels with a start of their own restart
        when the instance occurs first."""
        known = self._known.get(number)
        if known is None:
            name, levels = self._lists.levels(number)
            starts = self._lists.starts(number)
            own = {at: replace(level, start=starts.get(at, level.start)) for at, level in levels.items()}
            known = self._known[number] = name, own
            for at in starts:
                self._counts.begin(name, at)
        return known


def _parts(package: Package, role: str) -> list[str]:
    """Those of the document; its building blocks have their own."""
    return [name for name in package.having(role) if "glossary/" not in name]


def _child(element: Element | None, name: str) -> Element | None:
    return None if element is None else next(element.iterchildren("{*}" + name), None)


def _attribute(element: Element | None, name: str) -> str:
    """An attribute by its local name; "" where there is none. As a rule it is in its element's own namespace."""
    if element is None:
        return ""
    space, bracket, _ = str(element.tag).rpartition("}")
    if (own := element.get(space + bracket + name)) is not None:
        return own
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), "")


def _whole(text: str) -> int | None:
    return min(int(text), MOST) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _on(element: Element | None) -> bool:
    """A switch: there, and not off (17.17.4)."""
    return element is not None and _attribute(element, "val") not in ("0", "false", "off")


def _own(about: Element | None) -> tuple[str | None, int | None]:
    """The instance and level that the properties of a paragraph name themselves."""
    numbered = _child(about, "numPr")
    if numbered is None:
        return None, None
    return _attribute(_child(numbered, "numId"), "val") or None, _whole(_attribute(_child(numbered, "ilvl"), "val"))


def _levels(around: Element) -> Iterator[tuple[int, Level]]:
    for element in around:
        at = _whole(_attribute(element, "ilvl"))
        if local(element) == "lvl" and at is not None and at < LEVELS:
            text, style = (_attribute(_child(element, name), "val") for name in ("lvlText", "pStyle"))
            start, restart = (_whole(_attribute(_child(element, name), "val")) for name in ("start", "lvlRestart"))
            start = 0 if start is None else start  # 17.9.25
            said = _PLACE.sub(lambda place: chr(int(place[1]) - 1), text[:LONGEST])
            yield at, Level(start, _form(element), said, restart, _on(_child(element, "isLgl")), style)


def _form(level: Element) -> str:
    """The name of the form, or the number one as a form of Word 2010 and later writes it (`001, 002, 003, ...`), which
    is in an alternative to the form that older programs know."""
    choice = _child(_child(level, "AlternateContent"), "Choice")
    told = _child(level if choice is None else choice, "numFmt")
    first = _attribute(told, "format").partition(",")[0]
    return first if first.isdigit() else _attribute(told, "val") or "decimal"


def _instance(element: Element) -> _Instance:
    out = _Instance(_attribute(_child(element, "abstractNumId"), "val"))
    for override in element:
        at = _whole(_attribute(override, "ilvl"))
        if local(override) == "lvlOverride" and at is not None and at < LEVELS:
            out.levels.update(dict(_levels(override)))
            start = _whole(_attribute(_child(override, "startOverride"), "val"))
            if start is not None:
                out.starts[at] = start
    return out
