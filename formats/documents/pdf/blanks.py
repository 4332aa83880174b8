"""Blanks between words that PDFium leaves out: it goes by the widths that a font announces, and where a page's letters stand closer
than these, several words come out as one.

Words then still stand further apart than letters. How far a letter stands from the next within a word is told by a quarter of its places
on the page: only letters that hardly ever stand within one do not tell it, and these go by all others. Looked at are pages on which
runs of letters are longer than words are.
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
_LETTERS = re.compile(_LETTER + "{2,}")
# In heights of a line: by how much more than within a word, and the same for letters of which too few places are known.
_APART, _FAR_APART, _FEW = 0.1, 0.2, 5
_FEWEST = 40  # pairs of letters, or nothing can be told


def put_in(text_page: TextPage, text: str) -> str:
    """The text of a page with the blanks that its letters' places tell of; as it is where not two runs of letters are too long, for
    one may well be a word."""
    if max(map(len, text.split()), default=0) < _LONGEST or len(set(_LONG.findall(text))) < _SUSPICIOUS:
        return text
    gaps = _gaps(text_page, text) if raw.FPDFText_CountChars(text_page) == len(text) else {}
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
    return " ".join([text[start:stop] for start, stop in zip([0, *apart], [*apart, len(text)], strict=True)])


def _gaps(text_page: TextPage, text: str) -> dict[int, float]:
    """By the place of each letter that follows another in a line without a blank, in order: how far it stands from that, in heights of the
    line. None where the characters are not those of the text."""
    box = raw.FS_RECTF()
    lefts, rights, feet, heads = array("f"), array("f"), array("f"), array("f")
    for at, character in enumerate(text):
        if character.isalpha() and raw.FPDFText_GetUnicode(text_page, at) != ord(character):
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
