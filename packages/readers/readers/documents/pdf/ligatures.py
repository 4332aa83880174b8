"""Glyphs that stand for several letters in text that is written from right to left, as lam-alef.

A font's ToUnicode map gives the letters of a glyph in logical order (ISO 32000-1, 9.10.3). PDFium turns a line round letter by letter,
and so these too. Letters of one glyph are known by their common place. What PDFium itself has taken apart, ligatures that Unicode has a
character for (U+FEFB), is in order already. Letters that are such a ligature in one order and another in the other (meem-hah and
hah-meem, lam-alef and alef-lam) are looked up in the maps.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from ctypes import c_double
from typing import Any

import pypdfium2.raw as raw

from readers.documents.pdf.packed import inflated

TextPage = Any  # raw.FPDF_TEXTPAGE, a ctypes pointer made at import
# Two letters of such scripts, or a letter and its marks (Hebrew, Arabic, Syriac, Thaana, N'Ko, and what is beyond 16 bits).
_LETTER = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUNS = re.compile(f"[{_LETTER}]{{2,}}")
_OTHERS = bytes({*range(256)} - {*range(0x05, 0x09), *range(0xD8, 0xDC), *range(0xFB, 0xFF)})  # upper bytes in UTF-16
_PRESENTATION = (range(0xFB1D, 0xFE00), range(0xFE70, 0xFF00))
_STREAM, _END = b"stream", b"endstream"
_MOST = 32_000_000  # bytes of streams that are searched for maps


def maps(data: bytes) -> bytes:
    """The ToUnicode maps of a document that is not encrypted, without blanks, their digits in capitals. They are streams, which are
    never packed into others."""
    found: list[bytes] = []
    at, left = data.find(_STREAM), _MOST
    while at >= 0 and left > 0:
        behind = at + len(_STREAM)
        if not data.startswith(_END, at - 3):
            content, after = inflated(data, behind, left)
            if content is None:
                after = data.find(_END, behind)
                content = data[behind:after]
            left -= len(content)
            if b"beginbf" in content:
                found.append(b"".join(content.upper().split()))
            behind = max(behind, after)
        at = data.find(_STREAM, behind)
    return b"".join(found)


def in_order(text_page: TextPage, text: str, mapped: Callable[[], bytes]) -> str:
    """The text of a page with the letters of each such glyph in their logical order; `mapped` gives the `maps` of its document."""
    # By the upper bytes it takes a fourth of the time to see that there are none, as in most texts.
    upper = text.encode("utf-16-le", "surrogatepass")[1::2]
    runs = list(_RUNS.finditer(text)) if upper.translate(None, _OTHERS) else []
    if not runs:
        return text
    direct = raw.FPDFText_CountChars(text_page) == len(text)
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()

    def place(at: int) -> tuple[float, ...]:
        index = at if direct else raw.FPDFText_GetCharIndexFromTextIndex(text_page, at)
        if not raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top):
            return ()
        return left.value, right.value, bottom.value, top.value

    pieces, done = [], 0
    for run in runs:
        begin, here = run.start(), place(run.start())
        for at in range(run.start() + 1, run.end() + 1):
            there = place(at) if at < run.end() else ()
            if there and there == here:
                continue
            if at - begin > 1 and here[0] < here[1] and _is_turned(group := text[begin:at], mapped):
                pieces += [text[done:begin], group[::-1]]
                done = at
            begin, here = at, there
    return "".join([*pieces, text[done:]])


def _is_turned(group: str, mapped: Callable[[], bytes]) -> bool:
    """Whether these letters of one glyph were turned round: they are letters, and are not what a ligature was taken apart into."""
    classes = {unicodedata.bidirectional(letter) for letter in group}
    if not classes & {"R", "AL"} or not classes <= {"R", "AL", "NSM"} or group == group[::-1]:
        return False
    ligatures = _taken_apart().get(group)
    return ligatures is None or (
        _mapped_to(group[::-1], mapped()) and not any(_mapped_to(one, mapped()) for one in ligatures)
    )


def _mapped_to(letters: str, maps: bytes) -> bool:
    return b"<%b>" % letters.encode("utf-16-be").hex().upper().encode() in maps


@functools.cache
def _taken_apart() -> dict[str, list[str]]:
    """The presentation forms of Unicode that stand for several characters, by these."""
    forms: dict[str, list[str]] = {}
    for code in (code for some in _PRESENTATION for code in some):
        if len(form := unicodedata.normalize("NFKD", chr(code))) > 1:
            forms.setdefault(form, []).append(chr(code))
    return forms
