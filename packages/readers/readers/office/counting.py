"""Numbering of Word's lists (ECMA-376 part 1, 17.9; [MS-DOC] 2.4.6.3): counts by definition of a list and by level."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Hashable, Mapping

from msgspec import Struct
from msgspec.structs import replace

# Numbers as lists write them: digits, letters, Roman, and in English words (ECMA-376 part 1, 17.18.59; OpenDocument
# 1.3 part 3, 19.500).

_LETTERS_TO = 780  # 26 letters, each repeated up to thirty times, as Word counts; then it restarts
_ROMAN_TO = 32_767  # Word's limit
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_SMALL, _TENS, _FROM, _TO = (
    line.split()
    for line in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        "one two three five eight nine twelve",
        "first second third fifth eighth ninth twelfth",
    )
)
_ORDINALS = dict(zip(_FROM, _TO, strict=True))  # the irregular ones
_WORDS_TO = 999_999


def letters(number: int) -> str:
    """Return a to z, then aa to zz: the same letter repeated (17.18.59, `lowerLetter`). "" below one."""
    if number < 1:
        return ""
    number = (number - 1) % _LETTERS_TO
    return string.ascii_lowercase[number % 26] * (number // 26 + 1)


def alphabetic(number: int) -> str:
    """Return a to z, then aa, ab …, as columns of a sheet are named. "" below one."""
    out = ""
    while number > 0:
        number, last = divmod(number - 1, 26)
        out = string.ascii_lowercase[last] + out
    return out


def roman(number: int) -> str:
    """Return a number in lowercase Roman numerals; in digits outside their usual range."""
    if not 0 < number <= _ROMAN_TO:
        return str(number)
    out = ""
    for value, sign in _ROMAN:
        times, number = divmod(number, value)
        out += sign * times
    return out


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 11th …"""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def cardinal_words(number: int) -> str:
    """Return Twenty-one, One hundred two …"""
    return _words(number).capitalize() if 0 <= number <= _WORDS_TO else str(number)


def ordinal_words(number: int) -> str:
    """Return Twenty-first, One hundred second …"""
    if not 0 <= number <= _WORDS_TO:
        return str(number)
    words = _words(number)
    at = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[at:]
    last = _ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last.removesuffix("t") + "th")
    return (words[:at] + last).capitalize()


def _words(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    rest = f" {_words(number % unit)}" if number % unit else ""
    return f"{_words(number // unit)} {name}{rest}"


# By the name of the form in Word's documents; other forms are written in digits.
FORMS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda number: f"{number:02}",
    "lowerLetter": letters,
    "upperLetter": lambda number: letters(number).upper(),
    "lowerRoman": roman,
    "upperRoman": lambda number: roman(number).upper(),
    "numberInDash": lambda number: f"- {number} -",
    "hex": lambda number: f"{number:X}",
    "none": lambda _number: "",
    "bullet": lambda _number: "",
}
# The same for forms that are words of a language: in English.
ENGLISH: dict[str, Callable[[int], str]] = {
    "ordinal": ordinal,
    "cardinalText": cardinal_words,
    "ordinalText": ordinal_words,
}


LEVELS = 9
MOST = 2_147_483_647
LONGEST = 63  # characters of a level's text that count; Word takes 31
_PLACE = re.compile("[\0-\x08]")


class Level(Struct, frozen=True):
    """Numbering of one level of a list."""

    start: int = 1
    form: str = "decimal"
    text: str = ""  # the characters 0 to 8 stand for the numbers of the levels
    restart: int | None = None  # after a level above this one (counted from 1), 0 for never; None: after any above
    legal: bool = False  # every number in digits
    style: str = ""  # paragraphs in this style are on this level

    def written(self, form: str, number: int, *, english: bool) -> str:
        """Return a number in a form, or in digits, padded to the length of a form of digits."""
        if form.isdigit():
            return str(number).zfill(min(len(form), LEVELS))
        if self.legal and form not in ("none", "bullet"):
            return str(number)
        write = FORMS.get(form) or (ENGLISH.get(form) if english else None)
        return write(number) if write else str(number)


# The definition by which an instance of a list counts, its levels, and own starts of some levels
Instance = tuple[Hashable, Mapping[int, Level], Mapping[int, int]]


class Counts:
    """Counters of one text. The main text, a header and the notes count independently."""

    def __init__(self, *, english: bool) -> None:
        self._english = english
        self._counts: dict[Hashable, dict[int, int]] = {}
        self._met: dict[Hashable, tuple[Hashable, dict[int, Level]]] = {}  # instances

    def label_of(self, number: Hashable, at: int, instance: Callable[[], Instance]) -> str:
        """Return the label of the next paragraph of an instance, by its number, on this level. `instance` is called when the
        number occurs first: then its levels with a start of their own restart."""
        if number not in self._met:
            of, levels, starts = instance()
            own = {level: replace(form, start=starts.get(level, form.start)) for level, form in levels.items()}
            self._met[number] = of, own
            for level in starts:
                self._counts.get(of, {}).pop(level, None)
        return self._label(*self._met[number], at)

    def _label(self, of: Hashable, levels: Mapping[int, Level], at: int) -> str:
        """Return the label of the next paragraph on this level; "" for a bullet or an unknown level."""
        level = levels.get(at)
        if level is None or level.form == "bullet":
            return ""
        counts = self._counts.setdefault(of, {})
        counts[at] = min(counts[at] + 1, MOST) if at in counts else level.start
        for above in range(at):  # a skipped level counts as present
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
