"""Formats of cells: how workbooks of all versions mark a number as a date, percentage or amount, and the text of such a
cell."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from readers.office.number_format import CODE_CHARACTERS, NumberFormat, number_format

# Built-in number formats that show dates or times (ECMA-376 part 1, 18.8.30, East Asian ones included).
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_NAMED_DATES = frozenset((15, 16, 17))  # with the month's name, cut short
_CLOCKS = frozenset((*range(18, 22), 32, 33, 45, 47))  # times of day, without a date
_PERCENT = frozenset((9, 10))
# Those whose code a workbook may omit. Accounts (5 to 8, 41 to 44) omit the currency, which depends on the locale.
_CODES_OF = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%"}
_CODES_OF |= dict.fromkeys((5, 6, 37, 38, 41, 42), "#,##0;(#,##0)")
_CODES_OF |= dict.fromkeys((7, 8, 39, 40, 43, 44), "#,##0.00;(#,##0.00)")
_HOURS = 46  # `[h]:mm:ss`
_BEYOND = re.compile(r"\[(h|m)\1*\]", re.IGNORECASE)  # hours or minutes that do not end with the day
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FORMATS_LEFT = (  # of what cells show
    "fractions and exponents (decimals stand for them), dates in another form than ISO 8601's, the separators of other languages "
    "than English, formats of numbers beyond the first 1,000 of a workbook"
)
DATE = "date"  # start of the results of `style_of` for dates: `date`, `date Jan`, `date January Mon` …
CLOCK = "clock"  # of cells that show a time of day and no date
ELAPSED = "time"  # the same of cells that show times: and in hours or minutes, `time h` or `time m`
# Before the words of a cell with a positive number, those with a negative one, with 0, and before the format's code
SAID = "\t"
_START_1904 = datetime(1904, 1, 1)
_DAYS_UNTIL_MARCH = 60  # of 1900, with its 29 February, which that year did not have (ECMA-376 part 1, 18.17.4.1)
_LAST_SECOND = 86_399 / 86_400
_FORMATS = 1_000  # of a workbook that are rendered; Excel has at most 250 of its own. So all are kept in mind
_EXACT = 16  # digits from which on a number may be another one in fifteen
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|[_*].')  # parts of a format code that are not placeholders
_NAMED_MONTH = re.compile(r"m{3,5}", re.IGNORECASE)
_NAMED_DAY = re.compile(r"d{3,4}", re.IGNORECASE)
# Of a format code: quoted text, the sign of a currency, letters after a backslash; and the end of a section.
_WORDS = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|((?:\\.)+)|[_*].|(;)')
_WORD = re.compile(r"[^\W\d_]{2,}")
_PLACES = re.compile(r"[0#?;@]")  # what a format code has that shows numbers otherwise than plain
_DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
_DAY_LETTERS, _TIME_LETTERS = re.compile(r"[yd]", re.IGNORECASE), re.compile(r"[hs]", re.IGNORECASE)


class Styles(list[str]):
    """Results of `style_of` by the number of the cell format."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[str, str], str] = {}
        self.texts: set[int] = set()  # those that show more of a text than the text

    def take(self, number: str, code: str) -> None:
        """The next cell format has this number format."""
        key = number, code[:CODE_CHARACTERS]
        told = self._told.get(key)
        if told is None:
            few = len(self._told) < _FORMATS
            told = style_of(*key, rendered=few)
            if few:
                self._told[key] = told
        if "@" in told and text_format(told) is not None:
            self.texts.add(len(self))
        self.append(told)


class Look(NamedTuple):
    """The parts of a result of `style_of`."""

    kind: str
    words: tuple[str, ...]  # with positive numbers, negative ones and 0
    form: NumberFormat | None


@lru_cache(maxsize=4096)
def look_of(shown: str) -> Look:
    """Split a result of `style_of` into its parts."""
    kind, *said = shown.split(SAID, 4)
    return Look(kind, tuple(said[:3]) or ("", "", ""), number_format(said[3]) if len(said) > 3 else None)


def text_format(shown: str) -> NumberFormat | None:
    """The format, where it shows more of a text than the text."""
    form = look_of(shown).form
    return form if form is not None and form.has_text else None


def whole_as_it_is(shown: str) -> bool:
    """Whether a whole number is shown unchanged: General, `0`."""
    look = look_of(shown)
    return not look.kind and not any(look.words) and (look.form is None or look.form.plain_whole)


def style_of(number: str, code: str, *, rendered: bool = True) -> str:
    """Return how a cell format shows numbers: DATE with the names it uses, ELAPSED, "percent" or "". Its words follow,
    if any, then its code where numbers are rendered by it, each after a separator."""
    said = ""
    if code:
        code = code[:CODE_CHARACTERS]
        said = _said(code) if '"' in code or "\\" in code or "[$" in code else ""
        kind = _kind(code)
    elif number.isdecimal() and len(number) <= 4:
        code = _CODES_OF.get(int(number), "")
        kind = _built_in(int(number))
    else:
        return ""
    if not rendered or kind.startswith((DATE, CLOCK, ELAPSED)) or code == "@" or not _PLACES.search(code):
        return kind + said
    return f"{kind}{said or 3 * SAID}{SAID}{code}"


def _built_in(number: int) -> str:
    if number == _HOURS:
        return f"{ELAPSED} h"
    if number in _CLOCKS:
        return CLOCK
    if number in _DATES:
        return f"{DATE} Jan" if number in _NAMED_DATES else DATE
    return "percent" if number in _PERCENT else ""


def _kind(code: str) -> str:
    """What the first section of a format code shows."""
    section = code.split(";", 1)[0]
    plain = _LITERAL.sub("", section)
    if "[" in section and (beyond := _BEYOND.search(section)):
        return f"{ELAPSED} {beyond[1].lower()}"
    if plain.lower() == "general" or not _DATE_LETTERS.search(plain):
        return "percent" if "%" in plain else ""
    if _TIME_LETTERS.search(plain) and not _DAY_LETTERS.search(plain):
        return CLOCK
    month, day = _NAMED_MONTH.search(plain), _NAMED_DAY.search(plain)
    names = "" if month is None else " Jan" if len(month[0]) == 3 else " January"
    return DATE + names + ("" if day is None else " Mon" if len(day[0]) == 3 else " Monday")


def _said(code: str) -> str:
    """The words of a format code (ECMA-376 part 1, 18.8.31), by sections: for positive numbers, negative ones and 0, which
    show as the first does where they have no section of their own."""
    sections: list[list[str]] = [[]]
    for quoted, currency, escaped, end in _WORDS.findall(code):
        if end:
            sections.append([])
        else:
            sections[-1] += _WORD.findall(quoted or currency or escaped.replace("\\", ""))
    words = [" ".join(section) for section in (sections + sections[:1] * 2)[:3]]
    return SAID + SAID.join(words) if any(words) else ""


def number_shown(value: str, number: float, shown: str, start: datetime) -> str:
    """A number, and behind it what its cell shows otherwise or with it: `12.5 dollars and cents`, `42 INV INV0042`."""
    if SAID not in shown:
        return _number_text(value, number, shown, start)
    look = look_of(shown)
    text = _number_text(value, number, look.kind, start)
    word = look.words[0 if number > 0 else 1 if number < 0 else 2]
    if look.form is not None:
        return look.form.number(number, text, word)
    return f"{text} {word}" if word else text


def is_whole(value: str) -> bool:
    """Whether a number is shown unchanged when its format does not change it."""
    return len(value) < _EXACT and value.isdecimal() and value.isascii() and value[0] != "0"


def number_text(value: str, shown: str, start: datetime) -> str:
    """Return a stored number as text, in a cell for which `style_of` returned `shown`."""
    if not shown and value.isdecimal() and is_whole(value):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return number_shown(value, number, shown, start) if shown else _number_text(value, number, "", start)


def _number_text(value: str, number: float, kind: str, start: datetime) -> str:
    if not kind:
        return f"{number:.15g}" if abs(number) < 1e15 else value
    if kind == "percent":
        return f"{number * 100:.10g}%"
    if 0 <= number <= (datetime.max - start).days + _LAST_SECOND:  # the end of the year 9999
        return _elapsed(number, start, kind) if kind.startswith(ELAPSED) else date_text(number, start, kind)
    return f"{number:.15g}" if abs(number) < 1e15 else value


def _elapsed(number: float, start: datetime, kind: str) -> str:
    """Durations of more than a day: hours or minutes do not restart at zero."""
    if number < 1:
        return _date_text(number, start, has_day=False)
    minutes, seconds = divmod(round(number * 86400), 60)
    return f"{minutes}:{seconds:02}" if kind[-1] == "m" else f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def date_text(number: float, start: datetime, shown: str) -> str:
    """Convert a serial date (days since the start, the time of day as a fraction) to ISO 8601. Where the cell shows the
    name of the month or day, that name follows in English, because a search may use either form. Values below 1 have no
    day in workbooks of the 1900 date system. In the others they have one, unless the cell shows only a time of day."""
    text = _date_text(number, start, has_day=number >= 1 or (start == _START_1904 and shown != CLOCK))
    if shown in (DATE, CLOCK) or text[2:3] == ":":
        return text
    weekday = (start + timedelta(days=int(number))).weekday()  # as the cell shows it, also in January and February 1900
    names = {"J": _MONTHS[int(text[5:7]) - 1], "M": _DAYS[weekday]}
    return " ".join([text, *(names[kind[0]][: 3 if len(kind) == 3 else None] for kind in shown.split()[1:])])


def _date_text(number: float, start: datetime, *, has_day: bool) -> str:
    days = int(number)
    if days == number and has_day:
        return _day(days, start)
    later, seconds = divmod(round((number - days) * 86400), 86400)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if not has_day:
        return time
    return f"{_day(days + later, start)} {time}" if seconds else _day(days + later, start)


@lru_cache(maxsize=4096)
def _day(days: int, start: datetime) -> str:
    if start != _START_1904 and days <= _DAYS_UNTIL_MARCH:
        if days == _DAYS_UNTIL_MARCH:
            return "1900-02-29"
        days += 1
    return (start + timedelta(days=days)).isoformat()[:10]
