"""Blanks between words that PDFium omits.

PDFium relies on the widths that a font announces, and where a page's letters are closer together than these, several
words come out as one.

The distance between words is then still larger than between letters. The distance from a letter to the next within a
word is estimated by the lower quartile of its distances on that page; letters that hardly ever occur within a word have
no such estimate and use the one of all others. Only pages are examined on which runs of letters are longer than words
are, or words stick to the commas and full stops in front of them. On the latter a soft hyphen is inserted, which the
index reads both ways.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pypdfium2.raw as raw

TextPage = Any  # raw.FPDF_TEXTPAGE, a ctypes pointer made at import
_LETTER = r"[^\W\d_\u0590-\u08ff\u0e00-\U0010ffff]"  # of scripts with blanks that are written from left to right
_LONGEST = 22  # letters of nearly all words, or fewer (German has the longest)
_LONG = re.compile(f"{_LETTER}{{{_LONGEST},}}")
_SUSPICIOUS = 2  # such runs of a page
_STUCK = re.compile(r"[a-z]{2}(?:[,;][^\W\d_]|[.:)][A-Z])[a-z]")
_MARKS = bytes(
    1 if chr(byte) in ",;.:)" else 2 if chr(byte).isalpha() or chr(byte) == "?" else 0 for byte in range(256)
)
_MAYBE_STUCK = re.compile(rb"\x01\x02")  # a mark in front of a letter: as many as of the former, or more
_RUNS = bytes(0 if chr(byte).isspace() else 1 for byte in range(256))
_LONG_RUN = b"\x01" * _LONGEST
_MANY_STUCK = 4  # of a page: addresses, and lists without blanks, have some
_MAYBE = "\xad"
_LETTERS = re.compile(_LETTER + "{2,}")
# In heights of a line: by how much more than within a word, and the same for letters of which too few places are known.
_APART, _FAR_APART, _FEW = 0.1, 0.2, 5
_FEWEST = 40  # pairs of letters; with fewer there is no estimate


def put_in(text_page: TextPage, text: str) -> str:
    """The text of a page with the blanks that the positions of its letters imply. Unchanged where fewer than two runs
    of letters are too long (one may well be a word) and no words stick to others."""
    between = _between(text)
    gaps = _gaps(text_page, text) if between and raw.FPDFText_CountChars(text_page) == len(text) else {}
    if len(gaps) < _FEWEST:
        return text
    every = _quarter(gaps.values())
    places: defaultdict[str, list[float]] = defaultdict(list)
    for at, gap in gaps.items():
        places[text[at - 1]].append(gap)
    limits = {
        letter: _quarter(known) + _APART if len(known) >= _FEW else every + _FAR_APART
        for letter, known in places.items()
    }
    apart = [at for at, gap in gaps.items() if gap > limits[text[at - 1]]]
    if between == _MAYBE:  # letters by themselves are letters that were set apart
        apart = [at for at in apart if text[at - 2 : at + 2].isalpha()]
    return between.join([text[start:stop] for start, stop in zip([0, *apart], [*apart, len(text)], strict=True)])


def _between(text: str) -> str:
    """What to put between words that are joined: a blank, or a mark that may be one; "" where there is no sign of such
    words."""
    raw = text.encode("latin-1", "replace")  # whose bytes show sooner that there can be none, as on nearly all pages
    if _LONG_RUN in raw.translate(_RUNS) and len(set(_LONG.findall(text))) >= _SUSPICIOUS:
        return " "
    stuck = len(_MAYBE_STUCK.findall(raw.translate(_MARKS))) >= _MANY_STUCK and len(_STUCK.findall(text)) >= _MANY_STUCK
    return _MAYBE if stuck else ""


def _gaps(text_page: TextPage, text: str) -> dict[int, float]:
    """Distance of each letter from the letter in front of it in a line without a blank, by its place and in order, in
    heights of the line. Empty where the characters are not those of the text."""
    box = raw.FS_RECTF()
    lefts, rights, feet, heads = array("f"), array("f"), array("f"), array("f")
    for at, character in enumerate(text):
        # Letters of scripts from right to left may have been put in order since.
        if (
            character.isalpha()
            and not "\u0590" <= character < "\u0900"
            and raw.FPDFText_GetUnicode(text_page, at) != ord(character)
        ):
            return {}
        found = raw.FPDFText_GetLooseCharBox(text_page, at, box)
        lefts.append(box.left if found else 0.0)
        rights.append(box.right if found else 0.0)
        feet.append(box.bottom if found else 0.0)
        heads.append(box.top if found else 0.0)
    return {
        at: (lefts[at] - rights[at - 1]) / (heads[at] - feet[at])
        for run in _LETTERS.finditer(text)
        for at in range(run.start() + 1, run.end())
        if feet[at] == feet[at - 1] < heads[at]
    }


def _quarter(gaps: Iterable[float]) -> float:
    """What a quarter of them does not exceed."""
    known = sorted(gaps)
    return known[len(known) // 4]
