"""Numbering of Word's lists (ECMA-376 part 1, 17.9; [MS-DOC] 2.4.6.3): counts by definition of a list and by level."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from readers.office import numerals

LEVELS = 9
MOST = 2_147_483_647
LONGEST = 63  # characters of a level's text that count; Word takes 31
_PLACE = re.compile("[\0-\x08]")


@dataclass(frozen=True, slots=True)
class Level:
    """How one level of a list is numbered."""

    start: int = 1
    form: str = "decimal"
    text: str = ""  # the characters 0 to 8 stand for the numbers of the levels
    restart: int | None = None  # after a level above this one (counted from 1), 0 for never; None: after any above
    legal: bool = False  # every number in digits
    style: str = ""  # paragraphs in it are on this level

    def written(self, form: str, number: int, *, english: bool) -> str:
        """A number in a form, or in digits, of which a form may want so many."""
        if form.isdigit():
            return str(number).zfill(min(len(form), LEVELS))
        if self.legal and form not in ("none", "bullet"):
            return str(number)
        write = numerals.FORMS.get(form) or (numerals.ENGLISH.get(form) if english else None)
        return write(number) if write else str(number)


class Counts:
    """Counts of one text. The main text, a header and the notes count independently."""

    def __init__(self, *, english: bool) -> None:
        self._english = english
        self._counts: dict[Hashable, dict[int, int]] = {}

    def begin(self, of: Hashable, at: int) -> None:
        """Restart the count of a level of a list."""
        self._counts.get(of, {}).pop(at, None)

    def label(self, of: Hashable, levels: Mapping[int, Level], at: int) -> str:
        """Return the label of the next paragraph on this level; "" for a bullet or an unknown level."""
        level = levels.get(at)
        if level is None or level.form == "bullet":
            return ""
        counts = self._counts.setdefault(of, {})
        counts[at] = min(counts[at] + 1, MOST) if at in counts else level.start
        for above in range(at):  # a level that was passed over counts as one that was there
            counts.setdefault(above, levels.get(above, Level()).start)
        for deeper in [other for other in counts if other > at]:
            after = levels[deeper].restart if deeper in levels else None
            if at < (deeper if after is None else after):
                del counts[deeper]

        def number(match: re.Match[str]) -> str:
            place = ord(match[0])
            of_place = levels.get(place, Level())
            return level.written(of_place.form, counts.get(place, of_place.start), english=self._english)

        return _PLACE.sub(number, level.text).strip()
