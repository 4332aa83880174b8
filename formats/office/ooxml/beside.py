"""What a part says beside its paragraphs: alternative text of pictures and shapes, what fields say in their codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formats.office.ooxml.xml import Element, local

TAGS = ("docPr", "cNvPr", "instrText", "delInstrText")
_BEGINS = re.compile(r"\s*[A-Za-z]{2,}(?:\s|\Z)")
# Fields that lead somewhere; those that show their codes, for they have no results (ECMA-376 part 1, 17.16.5).
_LEADS = re.compile(r"\s*HYPERLINK\s+(?:\"([^\"]*)|([^\s\"\\]\S*))", re.IGNORECASE)
_SHOWN = re.compile(r"\s*(?:EQ|(?:MACROBUTTON|GOTOBUTTON)\s+\S+)\s+(.*\S)", re.IGNORECASE | re.DOTALL)


class Beside:
    """Told by elements in their order; each line once."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._code: list[str] = []
        self._open = False  # a quotation mark is

    def told(self, element: Element) -> Iterator[str]:
        """What an element of these names says."""
        if local(element) in ("docPr", "cNvPr"):  # 20.1.2.2.8: a title and a description, for those who cannot see it
            for name in ("title", "descr"):
                yield from self._once(element.get(name) or "")
            return
        code = element.text or ""
        # Programs cut the code of a field anywhere; the next one begins with its word.
        if _BEGINS.match(code) and (not self._open or _LEADS.match(code) or _SHOWN.match(code)):
            yield from self.rest()
        self._code.append(code)
        self._open ^= code.count('"') % 2 == 1

    def rest(self) -> Iterator[str]:
        """What the last field says."""
        code, self._code, self._open = "".join(self._code).strip(), [], False
        if found := _LEADS.match(code) or _SHOWN.match(code):
            yield from self._once(next(filter(None, found.groups()), ""))

    def _once(self, text: str) -> Iterator[str]:
        line = " ".join(text.split())
        if line and line not in self._told:
            self._told.add(line)
            yield line


def chosen(choices: Element) -> str:
    """The entry of a list in a form that is chosen (17.16.9, 17.16.28): it stands in no run."""
    entries = [entry for entry in choices if local(entry) == "listEntry"]
    numbers = {local(one): _value(one) for one in choices if local(one) in ("result", "default")}
    number = numbers.get("result", numbers.get("default", "0"))[:9]
    return _value(entries[int(number)]) if number.isdecimal() and int(number) < len(entries) else ""


def _value(element: Element) -> str:
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == "val"), "")
