"""The numbers and letters that Word's lists generate (ECMA-376 part 1, 17.9): `4.2(b)` is in no paragraph, but is what
people cite.

A paragraph belongs to a list directly or by its style. A list is an instance (w:num) of a definition (w:abstractNum) of
nine levels. Instances of one definition share their counts unless one defines its start."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from readers.office.counting import LEVELS, LONGEST, MOST, Counts, Level
from readers.office.ooxml.package import Package
from readers.office.ooxml.xml import Element, attribute, elements, local

_BASES = 50  # styles that are based on one another
_PLACE = re.compile("%([1-9])")


class _Definition(Struct):
    levels: dict[int, Level] = field(default_factory=dict)
    elsewhere: str = ""  # the numbering style that defines its levels


class _Instance(Struct):
    definition: str
    starts: dict[int, int] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)  # in place of the definition's


class _Style(Struct, frozen=True):
    number: str | None  # of the instance
    level: int | None
    based_on: str


class Lists:
    """Lists of a document."""

    def __init__(self, package: Package) -> None:
        """Read the definitions. Raises DocumentError if the part that contains them is damaged."""
        self._definitions: dict[str, _Definition] = {}
        self._instances: dict[str, _Instance] = {}
        self._styles: dict[str, _Style] = {}
        self._by_style: dict[str, tuple[str, int] | None] = {}  # places of paragraphs in these styles
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
                self._instances[attribute(element, "numId")] = _instance(element)
            else:
                link = _child(element, "numStyleLink")
                levels = dict(_levels(element))
                self._definitions[attribute(element, "abstractNumId")] = _Definition(levels, attribute(link, "val"))

    def _read_styles(self, package: Package, name: str) -> None:
        for element in elements(package.pieces(name), "style", "lang"):
            if local(element) == "lang":
                if next(element.iterancestors("{*}rPrDefault"), None) is not None:
                    self._english = attribute(element, "val").lower().partition("-")[0] in ("", "en")
                continue
            identity = attribute(element, "styleId")
            number, level = _own(_child(element, "pPr"))
            self._styles[identity] = _Style(number, level, attribute(_child(element, "basedOn"), "val"))
            if attribute(element, "type") == "paragraph" and attribute(element, "default") in ("1", "true", "on"):
                self._default = identity

    def place(self, paragraph: Element) -> tuple[str, int] | None:
        """Return the instance and the level of a paragraph; None if it is not in a list."""
        about = paragraph[0] if len(paragraph) and local(paragraph[0]) == "pPr" else None
        number, level = _own(about)
        style = attribute(_child(about, "pStyle"), "val") or self._default
        if number is None:
            if style not in self._by_style:
                self._by_style[style] = self._of_style(style)
            if (by_style := self._by_style[style]) is None:
                return None
            number, level = by_style[0], by_style[1] if level is None else level
        return (number, level or 0) if number in self._instances else None

    def _of_style(self, name: str) -> tuple[str, int] | None:
        """Return the same for a style, by itself or by one that it is based on."""
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
        """Return the level of an instance that belongs to a style (17.9.23)."""
        if number not in self._instances:
            return 0
        return next((at for at, level in self._instance(number)[1].items() if level.style == style), 0)

    def _instance(self, number: str) -> tuple[str, dict[int, Level], dict[int, int]]:
        """Return the definition of an instance, by the name of its counts, its levels, and own starts of some."""
        instance = self._instances[number]
        name = instance.definition
        definition = self._definitions.get(name, _Definition())
        if definition.elsewhere and (style := self._styles.get(definition.elsewhere)) is not None:
            linked = self._instances.get(style.number or "")
            if linked is not None and linked.definition in self._definitions:
                name, definition = linked.definition, self._definitions[linked.definition]
        return name, {**definition.levels, **instance.levels}, instance.starts

    def counts(self) -> Counts:
        """Return new counters for one part."""
        return Counts(english=self._english)

    def label(self, counts: Counts, paragraph: Element) -> str:
        """Return the label of the next paragraph; "" for one that is not numbered."""
        place = self.place(paragraph)
        return "" if place is None else counts.label_of(*place, lambda: self._instance(place[0]))


def _parts(package: Package, role: str) -> list[str]:
    """Return the parts of the document; its building blocks have their own."""
    return [name for name in package.having(role) if "glossary/" not in name]


def _child(element: Element | None, name: str) -> Element | None:
    return None if element is None else next(element.iterchildren("{*}" + name), None)


def _whole(text: str) -> int | None:
    return min(int(text), MOST) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _on(element: Element | None) -> bool:
    """Return whether a switch is present and not off (17.17.4)."""
    return element is not None and attribute(element, "val") not in ("0", "false", "off")


def _own(about: Element | None) -> tuple[str | None, int | None]:
    """Return the instance and level in the properties of a paragraph."""
    numbered = _child(about, "numPr")
    if numbered is None:
        return None, None
    return attribute(_child(numbered, "numId"), "val") or None, _whole(attribute(_child(numbered, "ilvl"), "val"))


def _levels(around: Element) -> Iterator[tuple[int, Level]]:
    for element in around:
        at = _whole(attribute(element, "ilvl"))
        if local(element) == "lvl" and at is not None and at < LEVELS:
            text, style = (attribute(_child(element, name), "val") for name in ("lvlText", "pStyle"))
            start, restart = (_whole(attribute(_child(element, name), "val")) for name in ("start", "lvlRestart"))
            start = 0 if start is None else start  # 17.9.25
            level_text = _PLACE.sub(lambda place: chr(int(place[1]) - 1), text[:LONGEST])
            yield at, Level(start, _form(element), level_text, restart, _on(_child(element, "isLgl")), style)


def _form(level: Element) -> str:
    """Return the name of the form, or the number one as a form of Word 2010 and later writes it (`001, 002, 003, ...`),
    which is in an alternative to the form that older programs know."""
    choice = _child(_child(level, "AlternateContent"), "Choice")
    number_format = _child(level if choice is None else choice, "numFmt")
    first = attribute(number_format, "format").partition(",")[0]
    return first if first.isdigit() else attribute(number_format, "val") or "decimal"


def _instance(element: Element) -> _Instance:
    out = _Instance(attribute(_child(element, "abstractNumId"), "val"))
    for override in element:
        at = _whole(attribute(override, "ilvl"))
        if local(override) == "lvlOverride" and at is not None and at < LEVELS:
            out.levels.update(dict(_levels(override)))
            start = _whole(attribute(_child(override, "startOverride"), "val"))
            if start is not None:
                out.starts[at] = start
    return out
