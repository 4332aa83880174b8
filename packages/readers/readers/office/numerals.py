"""Numbers as lists write them: digits, letters, Roman, and in English words (ECMA-376 part 1, 17.18.59; OpenDocument 1.3 part 3,
19.500)."""

from __future__ import annotations

import string
from collections.abc import Callable

_LETTERS_TO = 780  # 26 letters, up to thirty of one in a row, as Word counts; then it begins again
_ROMAN_TO = 32_767  # what Word counts to
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
_ORDINALS = dict(zip(_FROM, _TO, strict=True))  # those that are not made by an ending
_WORDS_TO = 999_999


def letters(number: int) -> str:
    """a to z, then aa to zz: the same letter once more (17.18.59, `lowerLetter`). "" below one."""
    if number < 1:
        return ""
    number = (number - 1) % _LETTERS_TO
    return string.ascii_lowercase[number % 26] * (number // 26 + 1)


def alphabetic(number: int) -> str:
    """a to z, then aa, ab and on, as columns of a sheet are named. "" below one."""
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
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def cardinal_words(number: int) -> str:
    """Twenty-one, One hundred two."""
    return _words(number).capitalize() if 0 <= number <= _WORDS_TO else str(number)


def ordinal_words(number: int) -> str:
    """Twenty-first, One hundred second."""
    if not 0 <= number <= _WORDS_TO:
        return str(number)
    said = _words(number)
    at = max(said.rfind(" "), said.rfind("-")) + 1
    last = said[at:]
    last = _ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last.removesuffix("t") + "th")
    return (said[:at] + last).capitalize()


def _words(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_SMALL[number % 10]}" if number % 10 else "")
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    rest = f" {_words(number % unit)}" if number % unit else ""
    return f"{_words(number // unit)} {name}{rest}"


# By the name of the form in Word's documents; what is not here is written in digits.
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
# The same, of those that are words of a language: in English.
ENGLISH: dict[str, Callable[[int], str]] = {
    "ordinal": ordinal,
    "cardinalText": cardinal_words,
    "ordinalText": ordinal_words,
}
