"""Numbers and texts as the format of their cell shows them (ECMA-376 part 1, 18.8.31): `INV0042`, `(202) 555-0143`,
`1,234.50`.

The shown form follows the plain value, and only where it adds words. An index splits words at every sign, so `(5)` or
`$5` has no word other than 5, and a search finds no more by it. Rounded numbers, numbers with zeros added in front or
at the end, and those split by commas, points, hyphens or blanks have other words. Only the zeros at the end of a
percentage (`25.00%`) are omitted, because users do not search for them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

CODE_CHARACTERS = 255  # of a format code: as many as Excel takes
_LARGEST = 1e21  # from here on a number is written with an exponent
_SHARE = 1e6  # up to which a percentage is written with all of its digits
_MOST_DIGITS = 1e15  # those that a number of a sheet has
_DECIMAL = Context(prec=600, rounding=ROUND_HALF_UP)
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<blank>_.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>general|@)|(?P<digit>[0#?])|(?P<end>;)|(?P<sign>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*([+-]?\d+(?:\.\d+)?)\s*")
_WORD = re.compile(r"[^\W_]+")
_LETTER, _LETTERS = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_]{2,}")
_SIMPLE = re.compile(r"#*(0+)")
_EMPTY = {"0": "0", "?": " "}  # shown in a place without a digit
_PLACES, _SHIFTS = 64, 30  # digits of a section, and places of which it moves the point: more of them are not rendered
_ZEROS = "0 .,-%"  # what a number consists of that shows as zeros
_UNKNOWN = frozenset("ymdhsegb/")  # unquoted: dates, exponents, fractions
Token = tuple[str, str]  # kind, and what it shows
Render = Callable[[float, str], str]  # of a number without its sign and the digits that it is written with
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<>": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}


class NumberFormat:
    """A format code, taken apart once; sections that cannot be rendered (dates, fractions, exponents) show nothing."""

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
        """Whether cells of texts show more than these."""
        return self._around is not None and any(map(_WORD.search, self._around))

    def number(self, number: float, text: str, words: str = "") -> str:
        """Return a cell's plain number, followed by its shown form where that adds words. The words of the format
        follow too: those of the section, or `words` where it cannot be rendered."""
        section = self._only or next((one for one in self._sections if one.takes(number)), None)
        if section is None or section.render is None or not -_LARGEST < number < _LARGEST:
            return f"{text} {words}" if words else text
        words = section.words
        told = f"{text} {words}" if words else text
        plain = section.operand(number, text)
        shown = section.render(float(plain) if section.percents else abs(number), plain)
        if section.core_only:
            if not shown or shown == plain or (section.percents and "," not in shown and float(shown) == float(plain)):
                return told
            return f"{text} {section.sign(number, shown)}{section.lead}{shown}{section.tail}"
        shown = section.sign(number, shown) + " ".join(f"{section.lead}{shown}{section.tail}".split())
        got = _WORD.findall(shown.lower())
        if not got or f" {' '.join(got)} " in f" {' '.join(_WORD.findall(told.lower()))} ":
            return told
        return " ".join((text, *(word for word in words.split() if word.lower() not in got), shown))

    def text(self, text: str) -> str:
        """A cell's text with what is shown around it; alone too where it would be part of another word."""
        lead, tail = self._around or ("", "")
        if (lead[-1:] + text[:1]).isalnum() and lead and text:
            return f"{text} {lead}{text}{tail}"
        if (text[-1:] + tail[:1]).isalnum() and tail and text:
            return f"{text} {lead}{text}{tail}"
        return f"{lead}{text}{tail}"


class _Section:
    """One section of a format code: for which numbers it is, and how it shows them."""

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
        self.core_only = False  # its literals have no words, and it shows only the number between them
        self.lead = self.tail = ""
        self.plain_whole = False
        said = "".join(shown if kind == "literal" else " " for kind, shown in self._tokens)
        self.words = " ".join(_LETTERS.findall(said))
        self.render: Render | None = self._rendering() if known else None

    def takes(self, number: float) -> bool:
        """Whether it is for such a number."""
        return self.condition is None or _TESTS[self.condition[0]](number, self.condition[1])

    def sign(self, number: float, shown: str) -> str:
        """That of a negative number, unless it shows as zeros; a section that is for negative ones alone shows them in its own way."""
        only = self.condition is not None and self.condition[0] in ("<", "<=") and self.condition[1] <= 0
        return "-" if number < 0 and not only and shown.strip(_ZEROS) else ""

    def operand(self, number: float, text: str) -> str:
        """The digits of the number that it shows, without a sign."""
        if self.percents == 1:
            return text.strip("-%") if text.endswith("%") and abs(number) < _SHARE else f"{abs(number) * 100:.15g}"
        return f"{abs(number):.15g}" if text.endswith("%") or abs(number) >= _MOST_DIGITS else text.lstrip("-")

    def around(self) -> tuple[str, str]:
        """The literal text before and after the placeholder of a section for texts."""
        at = self._tokens.index(("general", "@"))
        shown = ["" if kind in ("general", "digit") else text for kind, text in self._tokens]
        return "".join(shown[:at]), "".join(shown[at + 1 :])

    def _rendering(self) -> Render | None:
        tokens = self._tokens
        digits = [at for at, (kind, _) in enumerate(tokens) if kind == "digit"]
        if not digits:  # words alone, or the number as it is
            return lambda _, text: "".join(text if kind == "general" else said for kind, said in tokens)
        if len(digits) > _PLACES:
            return None
        point = next((at for at, token in enumerate(tokens) if token == ("sign", ".")), len(tokens))
        whole, part, grouped, scale = _parts(tokens, point)
        first, last = digits[0], digits[-1]
        inside = tokens[min(first, point) : last + 1]
        plain = all(kind in ("digit", "sign") for kind, _ in inside) and all(kind != "general" for kind, _ in tokens)
        front, _, decimals = "".join(said for _, said in inside).partition(".")
        zeros = _SIMPLE.fullmatch(front.replace(",", "")) if plain and not decimals.strip("0") else None
        commas = sum(token == ("sign", ",") for token in tokens[last + 1 :])
        if zeros and not (scale or commas or self.percents > 1 or (grouped and len(zeros[1]) > 1)):
            self.lead = "".join(said for _, said in tokens[:first]).lstrip()
            self.tail = "".join(said for _, said in tokens[last + 1 :]).rstrip()
            self.core_only = not _WORD.search(self.lead + self.tail)
            self.plain_whole = self.core_only and front.lstrip("#") == "0" and not (decimals or self.percents)
            return _simple(len(zeros[1]), len(decimals), grouped=grouped)
        exponent = (2 * self.percents if self.percents > 1 else 0) - 3 * scale
        if abs(exponent) > _SHIFTS:
            return None
        return _filling(whole, part, exponent, grouped=grouped)


def _sections(code: str) -> list[list[Token]]:
    """The parts of each section, with what they show."""
    sections: list[list[Token]] = [[]]
    for match in _TOKEN.finditer(code):
        kind = match.lastgroup or ""
        if kind == "end":
            sections.append([])
        elif kind in ("general", "digit", "bracket", "sign"):
            sections[-1].append((kind, match[kind]))
        elif kind:
            said = " " if kind == "blank" else match[kind]
            if kind == "currency" and _LETTER.search(said):  # apart from the number, so that both are words
                said = f" {said} "
            before = sections[-1].pop()[1] if sections[-1] and sections[-1][-1][0] == "literal" else ""
            sections[-1].append(("literal", before + said))
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
    """`0`, `00000`, `0.00`, `#,##0.00`: what Python formats by itself, but for halves, which go up, in decimal digits."""
    width = f"0{zeros + (decimals + 1 if decimals else 0)}" if zeros > 1 else ""
    form = f"{{:{width}{',' if grouped else ''}.{decimals}f}}".format
    step, at = Decimal(1).scaleb(-decimals), -decimals - 2

    def render(number: float, text: str) -> str:
        if (text[at : at + 1 or None] == "." and text[-1] == "5") or number >= _MOST_DIGITS:
            return form(Decimal(text).quantize(step, context=_DECIMAL))
        return form(number)

    return render


def _filling(whole: list[Token], part: list[Token], exponent: int, *, grouped: bool) -> Render:
    """The digits of a number put in the places of a section, from the point to both sides."""
    step = Decimal(1).scaleb(-sum(kind == "digit" for kind, _ in part))
    backwards = [(kind == "digit", said, _EMPTY.get(said, "")) for kind, said in reversed(whole)]
    first = max(at for at, (place, _, _) in enumerate(backwards) if place)

    def render(_: float, text: str) -> str:
        front, behind = text, ""
        if exponent or step != 1 or not text.isdecimal():
            number = Decimal(text).scaleb(exponent, _DECIMAL).quantize(step, context=_DECIMAL)
            front, _point, behind = f"{number:f}".partition(".")
        left, out, count = list(front.lstrip("0")), [], 0
        for at, (place, said, empty) in enumerate(backwards):
            if not place:
                out.append(said)
                continue
            for _more in range(max(1, len(left)) if at == first else 1):
                digit = left.pop() if left else empty
                out.append(f"{digit}," if grouped and count and count % 3 == 0 and digit.isdigit() else digit)
                count += 1
        out.reverse()
        return "".join(out) + (_behind(behind, part) if part else "")

    return render


def _behind(decimals: str, part: list[Token]) -> str:
    """What a section shows from the point on."""
    out, kept, at = [], len(decimals.rstrip("0")), 0
    for kind, said in part:
        if kind == "digit":
            out.append(decimals[at] if at < kept else _EMPTY.get(said, ""))
            at += 1
        else:
            out.append(said)
    return "".join(out)


@lru_cache(maxsize=4096)
def number_format(code: str) -> NumberFormat:
    """The format of this code; a workbook has a few, and each is asked for by very many cells."""
    return NumberFormat(code)
