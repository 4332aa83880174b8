"""How else a text can be read: words cut by a hyphen at a line's end, letters written in more than one way.

The index gets a text as it stands and, behind it, each such place again with the words around it, as it is read and not as
it is written: `inter-` at a line's end and `national` are found as `inter`, `national` and `international`, and so is
"the international agreement". A query is read the same way. What a shard stores as an item's text stays as it was taken.

Read as one: what stands on both sides of a hyphen and a line's end (of small letters and a capital it is not: Anglo-
American), of a soft hyphen or another character that is not shown (Unicode's default ignorable ones). Letters and their
marks are composed (NFC), letters in other forms (ligatures, full and half width, Arabic shapes, radicals) are those that
they are forms of (NFKC, Unicode Standard Annex 15), a capital sigma ends a word as the small one does, and Romanian ș and ț are
the ş and ţ that charsets before Unicode have for them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Set

AROUND = 100  # characters on each side of such a place: a phrase as long is found across it
_HIDDEN = "\xad\u061c\u180e\ufeff" + "".join(
    map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A)))
)
_LETTER = r"[^\W\d_]"
# A letter or a mark on one; not the signs and dots of any script.
_BEFORE = rf"(?<={_LETTER}|[^\w\s\x00-\u02ff\u2000-\u2fff\u3000-\u303f\ufe10-\uff0f])"
_LINE = r"[ \t]*+(?:\r\n?|[\n\x0b\x0c\x85\u2028])[ \t>]*+"  # with the marks of quoted mail
_CUT = re.compile(rf"[-\u2010\u058a]{_LINE}(?={_LETTER})|[{_HIDDEN}]++(?:{_LINE})?(?={_LETTER})")
_PLAIN_CUT = re.compile(rf"-{_LINE}(?={_LETTER})")  # begins with a letter to look for: thirty times as fast
_SPECIAL = frozenset(_HIDDEN + "\u2010\u058a")  # what else a cut can begin with
_ENDS_IN_LETTER = re.compile(f"{_BEFORE}$")
_ALL_HIDDEN = re.compile(f"[{_HIDDEN}]+")
_NO_WORD = re.compile(r"\W")
_FINAL_SIGMA = re.compile(r"(?<=\w)\u03a3(?!\w)")
# Marks that are piled up: to bring them in order takes time by their number squared, and no script has so many.
_PILE = re.compile(r"([^\w\s\x00-\u02ff]{16})[^\w\s\x00-\u02ff]+")
_RADICALS = ("\u2e80", "\u2fdf")
_COMMAS = str.maketrans("\u0218\u0219\u021a\u021b", "\u015e\u015f\u0162\u0163")  # Ș ș Ț ț


class _Usual(dict[int, str]):
    """By code point what a letter is a form of; made as they are met."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        form = c.isalnum() or _RADICALS[0] <= c <= _RADICALS[1]
        self[code] = unicodedata.normalize("NFKC", c) if form and code > 0x7F else c
        return self[code]


_USUAL = _Usual()
# What composes with the letter before it: the last character of every canonical decomposition, and Hangul's jamo.
COMPOSING = frozenset(
    chr(int(parts[-1], 16))
    for first, last in ((0xC0, 0x2000), (0x3040, 0x3100))
    for code in range(first, last)
    if len(parts := unicodedata.decomposition(chr(code)).split()) == 2 and parts[0][0] != "<"
) | frozenset(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))


def usual(text: str) -> str:
    """The text as it is looked for: nothing that is not shown, letters composed and in their usual form."""
    if text.isascii():
        return text
    text = _PILE.sub(r"\1", _FINAL_SIGMA.sub("\u03c2", _ALL_HIDDEN.sub("", text)))
    return unicodedata.normalize("NFC", text.translate(_USUAL)).translate(_COMMAS)


def readings(text: str) -> list[str]:
    """The text itself, and every part of it that can be read otherwise, as it is read then."""
    return [text, *(_read(text[start:end]) for start, end in _parts(text))]


def _read(part: str) -> str:
    out, done = [], 0
    for start, end in cuts(part):
        out.append(part[done:start])
        done = end
    return usual("".join([*out, part[done:]]))


def cuts(text: str, letters: Set[str] | None = None) -> Iterator[tuple[int, int]]:
    """Where what stands between two halves of a word begins and ends. `letters`: the set of the text's, where it is known."""
    special = not text.isascii() and not _SPECIAL.isdisjoint(set(text) if letters is None else letters)
    for found in (_CUT if special else _PLAIN_CUT).finditer(text):
        start, end = found.span()
        if not start or not _ENDS_IN_LETTER.search(text[start - 1 : start]):
            continue
        if found[0][0] not in "-\u2010\u058a" or not (text[start - 1].islower() and text[end].isupper()):
            yield start, end


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each part with whole words around what is read otherwise; parts that touch are one."""
    begin = finish = -1
    for start, end in _places(text):
        left, right = max(0, start - AROUND), min(len(text), end + AROUND)
        if left <= finish:
            finish = max(finish, right)
            continue
        if finish >= 0:
            yield _whole(text, begin, finish)
        begin, finish = left, right
    if finish >= 0:
        yield _whole(text, begin, finish)


def _whole(text: str, begin: int, finish: int) -> tuple[int, int]:
    """Without the word that either end cuts through; over-long ones are in no index."""
    if begin and (gap := _NO_WORD.search(text, begin, begin + AROUND)) is not None:
        begin = gap.start()
    if finish < len(text):
        gaps = [at for at in range(finish - AROUND, finish) if not (text[at].isalnum() or text[at] == "_")]
        finish = gaps[-1] if gaps else finish
    return begin, finish


def _places(text: str) -> Iterator[tuple[int, int]]:
    letters = set() if text.isascii() else set(text)
    odd = "".join(sorted(c for c in letters if _is_odd(c)))
    if not odd:
        return cuts(text, letters)
    forms = re.compile(f"[{re.escape(odd)}]+")
    return iter(sorted([*cuts(text, letters), *(match.span() for match in forms.finditer(text))]))


def _is_odd(c: str) -> bool:
    return c > "\x7f" and (_USUAL[ord(c)] != c or c in COMPOSING or c == "\u03a3" or ord(c) in _COMMAS)
