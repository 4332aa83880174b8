"""Text of a part other than its paragraphs: alternative text of pictures and shapes, text in the codes of fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from readers.office.ooxml.xml import Element, attribute, local

# Attributes that say something: of pictures and shapes a title and a description, for those who cannot see them (20.1.2.2.8), what
# pops up at links (17.16.22, 21.1.2.3.5), helps with a form or is in it beforehand (17.16.16, 17.16.31, 17.16.10), names a control,
# describes a table (17.4.62, 17.4.63).
SAYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("docPr", "cNvPr"), ("title", "descr")),
    **dict.fromkeys(("hyperlink", "hlinkClick", "hlinkHover", "hlinkMouseOver"), ("tooltip",)),
    **dict.fromkeys(("helpText", "statusText", "alias", "tblCaption", "tblDescription"), ("val",)),
    "hlink": ("dest", "screenTip"),  # of Word 2003, as is who commented
    "annotation": ("author",),
}
_PLAIN = frozenset(("docPr", "cNvPr"))  # elements whose attributes have no namespace
TAGS = (*SAYS, "textInput", "fldSimple", "instrText", "delInstrText")
_BEGINS = re.compile(r"\s*[A-Za-z]{2,}(?:\s|\Z)")
# Fields that lead somewhere; those that show their codes, for they have no results (ECMA-376 part 1, 17.16.5).
_LEADS = re.compile(r"\s*HYPERLINK\s+(?:\"([^\"]*)|([^\s\"\\]\S*))", re.IGNORECASE)
_SHOWN = re.compile(r"\s*(?:EQ|(?:MACROBUTTON|GOTOBUTTON)\s+\S+)\s+(.*\S)", re.IGNORECASE | re.DOTALL)


class Beside:
    """Collects such text from elements in their order; each line once."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._code: list[str] = []
        self._open = False  # a quotation mark is

    def told(self, element: Element) -> Iterator[str]:
        """Yield the texts of an element of these names."""
        name = local(element)
        if name in SAYS:
            value_of = element.get if name in _PLAIN else partial(attribute, element)
            for text in filter(None, map(value_of, SAYS[name])):
                yield from self._once(text)
            return
        if name == "textInput":
            for default in element.iterchildren("{*}default"):
                yield from self._once(attribute(default, "val"))
            return
        if name == "fldSimple":  # a whole code in an attribute (17.16.19)
            yield from self._leads(attribute(element, "instr"))
            return
        code = element.text or ""
        # Programs cut the code of a field anywhere; the next one begins with its word.
        if _BEGINS.match(code) and (not self._open or _LEADS.match(code) or _SHOWN.match(code)):
            yield from self.rest()
        self._code.append(code)
        self._open ^= code.count('"') % 2 == 1

    def rest(self) -> Iterator[str]:
        """Yield the text of the last field."""
        code, self._code, self._open = "".join(self._code).strip(), [], False
        yield from self._leads(code)

    def _leads(self, code: str) -> Iterator[str]:
        if found := _LEADS.match(code) or _SHOWN.match(code):
            yield from self._once(next(filter(None, found.groups()), ""))

    def _once(self, text: str) -> Iterator[str]:
        line = " ".join(text.split())
        if line and line not in self._told:
            self._told.add(line)
            yield line


def chosen(choices: Element) -> str:
    """Return the chosen entry of a list in a form (17.16.9, 17.16.28), which is in no run."""
    entries = [entry for entry in choices if local(entry) == "listEntry"]
    numbers = {local(one): attribute(one, "val") for one in choices if local(one) in ("result", "default")}
    number = numbers.get("result", numbers.get("default", "0"))[:9]
    return attribute(entries[int(number)], "val") if number.isdecimal() and int(number) < len(entries) else ""
