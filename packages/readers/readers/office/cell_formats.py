"""Formats of cells: how workbooks of all versions mark a number as a date, percentage or amount, and the text of such a
cell."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

# Numbers and texts as the format of their cell shows them (ECMA-376 part 1, 18.8.31): `INV0042`, `(202) 555-0143`,
# `1,234.50`.

CODE_CHARACTERS = 255  # of a format code: Excel's limit
_LARGEST = 1e21  # from here on a number is written with an exponent
_SHARE = 1e6  # up to here a percentage is written with all of its digits
_MOST_DIGITS = 1e15  # precision of a number in a sheet
_DECIMAL = Context(prec=600, rounding=ROUND_HALF_UP)
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<blank>_.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>general|@)|(?P<digit>[0#?])|(?P<end>;)|(?P<sign>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*([+-]?\d+(?:\.\d+)?)\s*")
_ANY_WORD = re.compile(r"[^\W_]+")
_LETTER, _LETTERS = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]{2,}")
_SIMPLE = re.compile(r"#*(0+)")
_EMPTY = {"0": "0", "?": " "}  # shown in a place that has no digit
# Digits of a section, and places by which it moves the point: with more it is not rendered
_MOST_PLACES, _SHIFTS = 64, 30
_ZEROS = "0 .,-%"  # characters of a number that shows as zeros
_UNKNOWN = frozenset("ymdhsegb/")  # unquoted: dates, exponents, fractions
Token = tuple[str, str]  # kind, and shown text
Render = Callable[[float, str], str]  # from a number without its sign, and its digits
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<>": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}


class NumberFormat:
    """A parsed format code; sections that cannot be rendered (dates, fractions, exponents) show nothing."""

    def __init__(self, code: str) -> None:
        sections = [_Section(tokens) for tokens in _sections(code[:CODE_CHARACTERS])[:4]]
        text = sections[3] if len(sections) == 4 else sections[-1] if sections[-1].is_text else None
        self._around = text.around() if text is not None and text.is_text else None
        if text is not None and len(sections) > 1:
            sections.remove(text)
        self._sections = sections
        if len(sections) > 1 and not any(section.condition for section in sections):
            sections[0].condition = (">" if len(sections) == 3 else ">=", 0.0)
            sections[1].condition = ("<", 0.0)
        elif len(sections) == 3 and sections[1].condition is None:
            sections[1].condition = ("<", 0.0)
        self._only = sections[0] if len(sections) == 1 and sections[0].condition is None else None

    @property
    def plain_whole(self) -> bool:
        """Whether whole numbers are shown unchanged."""
        return self._only is not None and self._only.plain_whole

    @property
    def has_text(self) -> bool:
        """Whether text cells show more than their text."""
        return self._around is not None and any(map(_ANY_WORD.search, self._around))

    def number(self, number: float, text: str, words: str = "") -> str:
        """Return a cell's plain number, followed by its shown form if that adds words. The words of the format follow
        too: those of the section, or `words` if it cannot be rendered."""
        section = self._only or next((one for one in self._sections if one.takes(number)), None)
        if section is None or section.render is None or not -_LARGEST < number < _LARGEST:
            return f"{text} {words}" if words else text
        words = section.words
        full = f"{text} {words}" if words else text
        plain = section.operand(number, text)
        shown = section.render(float(plain) if section.percents else abs(number), plain)
        if section.core_only:
            if not shown or shown == plain or (section.percents and "," not in shown and float(shown) == float(plain)):
                return full
            return f"{text} {section.sign(number, shown)}{section.lead}{shown}{section.tail}"
        shown = section.sign(number, shown) + " ".join(f"{section.lead}{shown}{section.tail}".split())
        got = _ANY_WORD.findall(shown.lower())
        if not got or f" {' '.join(got)} " in f" {' '.join(_ANY_WORD.findall(full.lower()))} ":
            return full
        return " ".join((text, *(word for word in words.split() if word.lower() not in got), shown))

    def text(self, text: str) -> str:
        """Return a cell's text with the text shown around it; also alone if it would be part of another word."""
        lead, tail = self._around or ("", "")
        if (lead[-1:] + text[:1]).isalnum() and lead and text:
            return f"{text} {lead}{text}{tail}"
        if (text[-1:] + tail[:1]).isalnum() and tail and text:
            return f"{text} {lead}{text}{tail}"
        return f"{lead}{text}{tail}"


class _Section:
    """One section of a format code: its condition, and how it shows numbers."""

    def __init__(self, tokens: list[Token]) -> None:
        self.condition: tuple[str, float] | None = None
        self._tokens: list[Token] = []
        known = True
        for kind, shown in tokens:
            condition = _CONDITION.fullmatch(shown) if kind == "bracket" else None
            if condition is not None:
                self.condition = condition[1], float(condition[2])
            elif kind == "bracket":  # colours; times beyond a day
                known = known and not (shown and set(shown.lower()) in ({"h"}, {"m"}, {"s"}))
            else:
                self._tokens.append((kind, shown))
                known = known and not (kind == "sign" and shown.lower() in _UNKNOWN)
        self.is_text = any(token == ("general", "@") for token in tokens)
        self.percents = sum(token == ("sign", "%") for token in self._tokens)
        self.core_only = False  # its literals have no words, so it shows only the number between them
        self.lead = self.tail = ""
        self.plain_whole = False
        shown = "".join(shown if kind == "literal" else " " for kind, shown in self._tokens)
        self.words = " ".join(_LETTERS.findall(shown))
        self.render: Render | None = self._rendering() if known else None

    def takes(self, number: float) -> bool:
        """Return whether the section applies to the number."""
        return self.condition is None or _TESTS[self.condition[0]](number, self.condition[1])

    def sign(self, number: float, shown: str) -> str:
        """Return the sign of a negative number, unless it shows as zeros or the section is for these only."""
        only = self.condition is not None and self.condition[0] in ("<", "<=") and self.condition[1] <= 0
        return "-" if number < 0 and not only and shown.strip(_ZEROS) else ""

    def operand(self, number: float, text: str) -> str:
        """Return the digits of the number that the section shows, without a sign."""
        if self.percents == 1:
            return text.strip("-%") if text.endswith("%") and abs(number) < _SHARE else f"{abs(number) * 100:.15g}"
        return f"{abs(number):.15g}" if text.endswith("%") or abs(number) >= _MOST_DIGITS else text.lstrip("-")

    def around(self) -> tuple[str, str]:
        """Return the literal text before and after the placeholder of a section for texts."""
        at = self._tokens.index(("general", "@"))
        shown = ["" if kind in ("general", "digit") else text for kind, text in self._tokens]
        return "".join(shown[:at]), "".join(shown[at + 1 :])

    def _rendering(self) -> Render | None:
        tokens = self._tokens
        digits = [at for at, (kind, _) in enumerate(tokens) if kind == "digit"]
        if not digits:  # only words, or the number unchanged
            return lambda _, text: "".join(text if kind == "general" else shown for kind, shown in tokens)
        if len(digits) > _MOST_PLACES:
            return None
        point = next((at for at, token in enumerate(tokens) if token == ("sign", ".")), len(tokens))
        whole, part, grouped, scale = _parts(tokens, point)
        first, last = digits[0], digits[-1]
        inside = tokens[min(first, point) : last + 1]
        plain = all(kind in ("digit", "sign") for kind, _ in inside) and all(kind != "general" for kind, _ in tokens)
        front, _, decimals = "".join(shown for _, shown in inside).partition(".")
        zeros = _SIMPLE.fullmatch(front.replace(",", "")) if plain and not decimals.strip("0") else None
        commas = sum(token == ("sign", ",") for token in tokens[last + 1 :])
        if zeros and not (scale or commas or self.percents > 1 or (grouped and len(zeros[1]) > 1)):
            self.lead = "".join(shown for _, shown in tokens[:first]).lstrip()
            self.tail = "".join(shown for _, shown in tokens[last + 1 :]).rstrip()
            self.core_only = not _ANY_WORD.search(self.lead + self.tail)
            self.plain_whole = self.core_only and front.lstrip("#") == "0" and not (decimals or self.percents)
            return _simple(len(zeros[1]), len(decimals), grouped=grouped)
        exponent = (2 * self.percents if self.percents > 1 else 0) - 3 * scale
        if abs(exponent) > _SHIFTS:
            return None
        return _filling(whole, part, exponent, grouped=grouped)


def _sections(code: str) -> list[list[Token]]:
    """Return the parts of each section, with what they show."""
    sections: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup or ""
        if kind == "end":
            sections.append([])
        elif kind in ("general", "digit", "bracket", "sign"):
            sections[-1].append((kind, match[kind]))
        elif kind:
            shown = " " if kind == "blank" else match[kind]
            if kind == "currency" and _LETTER.search(shown):  # separated from the number, so that both are words
                shown = f" {shown} "
            before = sections[-1].pop()[1] if sections[-1] and sections[-1][-1][0] == "literal" else ""
            sections[-1].append(("literal", before + shown))
    return sections


def _parts(tokens: list[Token], point: int) -> tuple[list[Token], list[Token], bool, int]:
    """Return the tokens before and after the decimal point, whether thousands are separated, and by how many thousands
    the number is scaled."""
    grouped, scale = False, 0
    parts: tuple[list[Token], list[Token]] = ([], [])
    last = max(at for at, (kind, _) in enumerate(tokens) if kind == "digit")
    for at, token in enumerate(tokens):
        side = parts[at > point]
        before = any(kind == "digit" for kind, _ in tokens[max(0, at - 1) : at]) or scale > 0 or grouped
        if at == point:
            continue
        if token == ("sign", ",") and before:
            later = any(kind == "digit" for kind, _ in tokens[at + 1 : point])
            grouped, scale = grouped or later, scale + (not later and (at > last or at < point))
        else:
            side.append(token)
    if not any(kind == "digit" for kind, _ in parts[0]):
        parts[0].append(("digit", "#"))
    if point < len(tokens):
        parts[1].insert(0, ("literal", "."))
    return *parts, grouped, scale


def _simple(zeros: int, decimals: int, *, grouped: bool) -> Render:
    """Return the rendering of `0`, `0.00`, `#,##0.00`: Python's formatting, but halves are rounded up."""
    width = f"0{zeros + (decimals + 1 if decimals else 0)}" if zeros > 1 else ""
    form = f"{{:{width}{',' if grouped else ''}.{decimals}f}}".format
    step, at = Decimal(1).scaleb(-decimals), -decimals - 2

    def render(number: float, text: str) -> str:
        if (text[at : at + 1 or None] == "." and text[-1] == "5") or number >= _MOST_DIGITS:
            return form(Decimal(text).quantize(step, context=_DECIMAL))
        return form(number)

    return render


def _filling(whole: list[Token], part: list[Token], exponent: int, *, grouped: bool) -> Render:
    """Return a rendering that puts the digits of a number in the places of a section, from the point to both sides."""
    step = Decimal(1).scaleb(-sum(kind == "digit" for kind, _ in part))
    backwards = [(kind == "digit", shown, _EMPTY.get(shown, "")) for kind, shown in reversed(whole)]
    first = max(at for at, (place, _, _) in enumerate(backwards) if place)

    def render(_: float, text: str) -> str:
        front, behind = text, ""
        if exponent or step != 1 or not text.isdecimal():
            number = Decimal(text).scaleb(exponent, _DECIMAL).quantize(step, context=_DECIMAL)
            front, _point, behind = f"{number:f}".partition(".")
        left, out, count = list(front.lstrip("0")), [], 0
        for at, (place, shown, empty) in enumerate(backwards):
            if not place:
                out.append(shown)
                continue
            for _more in range(max(1, len(left)) if at == first else 1):
                digit = left.pop() if left else empty
                out.append(f"{digit}," if grouped and count and count % 3 == 0 and digit.isdigit() else digit)
                count += 1
        out.reverse()
        return "".join(out) + (_behind(behind, part) if part else "")

    return render


def _behind(decimals: str, part: list[Token]) -> str:
    """Return what a section shows from the point on."""
    out, kept, at = [], len(decimals.rstrip("0")), 0
    for kind, shown in part:
        if kind == "digit":
            out.append(decimals[at] if at < kept else _EMPTY.get(shown, ""))
            at += 1
        else:
            out.append(shown)
    return "".join(out)


@lru_cache(maxsize=4096)
def number_format(code: str) -> NumberFormat:
    """Return the format of this code, cached: a workbook has a few, and very many cells use each."""
    return NumberFormat(code)


# Built-in number formats that show dates or times (ECMA-376 part 1, 18.8.30, East Asian ones included).
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
_NAMED_DATES = frozenset((15, 16, 17))  # with the abbreviated name of the month
_CLOCKS = frozenset((*range(18, 22), 32, 33, 45, 47))  # times of day, without a date
_PERCENT = frozenset((9, 10))
# Codes that a workbook may omit. Accounts (5 to 8, 41 to 44) omit the currency, which depends on the locale.
_CODES_OF = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%"}
_CODES_OF |= dict.fromkeys((5, 6, 37, 38, 41, 42), "#,##0;(#,##0)")
_CODES_OF |= dict.fromkeys((7, 8, 39, 40, 43, 44), "#,##0.00;(#,##0.00)")
_HOURS = 46  # `[h]:mm:ss`
_BEYOND = re.compile(r"\[(h|m)\1*\]", re.IGNORECASE)  # hours or minutes that do not end with the day
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FORMATS_LEFT = (  # of what cells show
    "fractions and exponents (shown as decimals), dates in a form other than ISO 8601, separators of languages "
    "other than English, number formats beyond the first 1,000 of a workbook"
)
DATE = "date"  # start of the results of `style_of` for dates: `date`, `date Jan`, `date January Mon` …
CLOCK = "clock"  # style of cells that show a time of day and no date
ELAPSED = "time"  # style of cells that show durations: `time h` in hours, `time m` in minutes
# Before the words of a cell with a positive number, those with a negative one, with 0, and before the format's code
SEPARATOR = "\t"
_START_1904 = datetime(1904, 1, 1)
_DAYS_UNTIL_MARCH = 60  # in 1900, with a 29 February, which that year did not have (ECMA-376 part 1, 18.17.4.1)
_LAST_SECOND = 86_399 / 86_400
_FORMATS = 1_000  # rendered formats of a workbook (Excel allows 250 of its own); bounds the memory
_EXACT = 16  # digits; a number with as many may change when it is rounded to fifteen
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|[_*].')  # parts of a format code that are not placeholders
_NAMED_MONTH = re.compile(r"m{3,5}", re.IGNORECASE)
_NAMED_DAY = re.compile(r"d{3,4}", re.IGNORECASE)
# In a format code: quoted text, the sign of a currency, letters after a backslash; and the end of a section.
_WORDS = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|((?:\\.)+)|[_*].|(;)')
_PLACES = re.compile(r"[0#?;@]")  # placeholders, which change how numbers are shown
_DATE_LETTERS = re.compile(r"[ymdhs]", re.IGNORECASE)
_DAY_LETTERS, _TIME_LETTERS = re.compile(r"[yd]", re.IGNORECASE), re.compile(r"[hs]", re.IGNORECASE)


class Styles(list[str]):
    """Results of `style_of` by the number of the cell format."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, str], str] = {}
        self.texts: set[int] = set()  # formats that show more of a text than the text

    def take(self, number: str, code: str) -> None:
        """Add the next cell format, which has this number format."""
        key = number, code[:CODE_CHARACTERS]
        style = self._known.get(key)
        if style is None:
            few = len(self._known) < _FORMATS
            style = style_of(*key, rendered=few)
            if few:
                self._known[key] = style
        if "@" in style and text_format(style) is not None:
            self.texts.add(len(self))
        self.append(style)


class Look(NamedTuple):
    """Parts of a result of `style_of`."""

    kind: str
    words: tuple[str, ...]  # with positive numbers, negative ones and 0
    form: NumberFormat | None


@lru_cache(maxsize=4096)
def look_of(shown: str) -> Look:
    """Split a result of `style_of` into its parts."""
    kind, *rest = shown.split(SEPARATOR, 4)
    return Look(kind, tuple(rest[:3]) or ("", "", ""), number_format(rest[3]) if len(rest) > 3 else None)


def text_format(shown: str) -> NumberFormat | None:
    """Return the format, if it shows more of a text than the text."""
    form = look_of(shown).form
    return form if form is not None and form.has_text else None


def whole_as_it_is(shown: str) -> bool:
    """Return whether a whole number is shown unchanged: General, `0`."""
    look = look_of(shown)
    return not look.kind and not any(look.words) and (look.form is None or look.form.plain_whole)


def style_of(number: str, code: str, *, rendered: bool = True) -> str:
    """Return how a cell format shows numbers: DATE with the names it uses, ELAPSED, "percent" or "". Its words follow,
    if any, then its code where numbers are rendered by it, each after a separator."""
    words = ""
    if code:
        code = code[:CODE_CHARACTERS]
        words = _words_of(code) if '"' in code or "\\" in code or "[$" in code else ""
        kind = _kind(code)
    elif number.isdecimal() and len(number) <= 4:
        code = _CODES_OF.get(int(number), "")
        kind = _built_in(int(number))
    else:
        return ""
    if not rendered or kind.startswith((DATE, CLOCK, ELAPSED)) or code == "@" or not _PLACES.search(code):
        return kind + words
    return f"{kind}{words or 3 * SEPARATOR}{SEPARATOR}{code}"


def _built_in(number: int) -> str:
    if number == _HOURS:
        return f"{ELAPSED} h"
    if number in _CLOCKS:
        return CLOCK
    if number in _DATES:
        return f"{DATE} Jan" if number in _NAMED_DATES else DATE
    return "percent" if number in _PERCENT else ""


def _kind(code: str) -> str:
    """Return what the first section of a format code shows."""
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


def _words_of(code: str) -> str:
    """Return the words of a format code (ECMA-376 part 1, 18.8.31), by sections: for positive numbers, negative ones
    and 0, which use the first section if they have none of their own."""
    sections: list[list[str]] = [[]]
    for quoted, currency, escaped, end in _WORDS.findall(code):
        if end:
            sections.append([])
        else:
            sections[-1] += _LETTERS.findall(quoted or currency or escaped.replace("\\", ""))
    words = [" ".join(section) for section in (sections + sections[:1] * 2)[:3]]
    return SEPARATOR + SEPARATOR.join(words) if any(words) else ""


def number_shown(value: str, number: float, shown: str, start: datetime) -> str:
    """Return a number, followed by what its cell shows besides: `12.5 dollars and cents`, `42 INV INV0042`."""
    if SEPARATOR not in shown:
        return _number_text(value, number, shown, start)
    look = look_of(shown)
    text = _number_text(value, number, look.kind, start)
    word = look.words[0 if number > 0 else 1 if number < 0 else 2]
    if look.form is not None:
        return look.form.number(number, text, word)
    return f"{text} {word}" if word else text


def is_whole(value: str) -> bool:
    """Return whether a number is shown unchanged if its format does not change it."""
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
    """Return a duration of more than a day: hours or minutes do not restart at zero."""
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
    weekday = (start + timedelta(days=int(number))).weekday()  # as in the cell, also in January and February 1900
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
