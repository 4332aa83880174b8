"""Words in parts that are not text: queries, names, captions, logs of changes, cached sources of pivot tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from readers.office.ooxml.kinds import ALL, SOURCES, Words
from readers.office.ooxml.package import Package
from readers.office.ooxml.xml import Element, attribute, elements, local
from readers.text.xml_tree import flowing

_LINES = 100_000  # different lines of a part that are remembered

_STRINGS = re.compile(r'"((?:[^"]|"")*)"')
_SENTENCE = re.compile(r"[^\W\d_]{2}\s+[^\W\d_]{2}|(?![\x00-\x7f])[^\W\d_]")


def distinct_lines(package: Package, name: str, words: Words) -> Iterator[str]:
    """Yield the words in these elements of a part: a line for each, once. Raises as `Package.pieces` does."""
    known: set[str] = set()
    for element in elements(package.pieces(name), *words):
        line = line_of(element, words)
        if line and line not in known:
            if len(known) < _LINES:
                known.add(line)
            yield line


def line_of(element: Element, words: Words) -> str:
    """Return the words in one of these elements; "" if there are none."""
    return "\t".join(filter(None, _of(element, words[local(element)])))


def _of(element: Element, wanted: tuple[str, ...]) -> Iterator[str]:
    if wanted == ALL:
        for string in element.iter("{*}is"):  # of runs, which may cut words
            whole = "".join(piece for piece in string.itertext() if isinstance(piece, str))
            del string[:]
            string.text = whole
        yield from (" ".join(piece.split()) for piece in element.itertext() if isinstance(piece, str))
        return
    for name in wanted:
        if name:
            value = attribute(element, name)
            yield "" if value.startswith("_xlnm.") else " ".join(value.split())
        elif local(element) == "definedName":  # a formula: only its strings are words
            yield from (string.replace('""', '"') for string in _STRINGS.findall(element.text or ""))
        else:
            yield " ".join((element.text or "").split())


def unknown(package: Package, name: str) -> Iterator[str]:
    """Yield the character data of a part of an unknown kind, and sentences in its attributes."""
    trees: list[Element] = []
    for element in elements(package.pieces(name), "*", whole=trees.append):
        if trees and element is trees[0]:
            yield from flowing(element)
        elif not trees and (text := " ".join((element.text or "").split())):
            yield text
        yield from (" ".join(value.split()) for value in map(str, element.attrib.values()) if _SENTENCE.search(value))


def pivot(package: Package, name: str) -> Iterator[str]:
    """Yield the cached source of a pivot table (18.10.1): its location, its fields with their items, then its rows."""
    fields: list[list[str]] = []
    for element in elements(package.pieces(name), *SOURCES, "cacheField"):
        if local(element) != "cacheField":
            if source := "\t".join(filter(None, (attribute(element, key) for key in SOURCES[local(element)]))):
                yield source
            continue
        shared = [child for child in element if local(child) == "sharedItems"]
        fields.append([" ".join(filter(None, map(item.get, "vc"))) for items in shared for item in items])
        grouped = [attribute(one, "v") for child in element if child not in shared for one in child.iter()]
        texts = (attribute(element, "name"), attribute(element, "caption"), *fields[-1], *grouped)
        yield "\t".join(dict.fromkeys(filter(None, texts)))
    if package.roles.get(name) == "pivotcacherecords":  # its fields are defined only in this part
        yield from _rows(package, name, fields)
    for part in package.related(name).values():
        if package.roles.get(part) == "pivotcacherecords":
            yield from _rows(package, part, fields)


def _rows(package: Package, name: str, fields: list[list[str]]) -> Iterator[str]:
    for row in elements(package.pieces(name), "r"):
        cells: list[str] = []
        for place, cell in enumerate(row):
            value = cell.get("v") or ""
            if local(cell) == "x":  # the number of an item
                items = fields[place] if place < len(fields) else []
                value = items[int(value)] if value.isdecimal() and len(value) < 9 and int(value) < len(items) else ""
            cells.append(value)
        if line := "\t".join(filter(None, cells)):
            yield line
