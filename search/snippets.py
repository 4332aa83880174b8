"""The part of a text around its first matches, for engines that make no snippets of plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from search.query import Pattern
from search.words import AROUND, COMPOSING, WORD, apart, cuts, is_alone, like, readings, together, usual

# A word with combining marks, which are separate characters in a decomposed text.
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{''.join(sorted(COMPOSING))}])*")
Span = tuple[int, int]


def marks(text: str, patterns: Collection[Pattern], begin: int = 0, end: int | None = None) -> Iterator[Span]:
    """Return begin and end of each word that matches a pattern and begins between `begin` and `end`. Words are those of
    the index: as written, with parted halves (as by a hyphen at a line's end) joined, and with letters in their usual
    form."""
    if not patterns:
        return
    end, left = len(text) if end is None else end, max(0, begin - AROUND)  # a word may begin before and end after
    for first, last in _marked(text[left : end + AROUND], _Meaning(like(patterns))):
        if left + first >= end:
            return
        if left + first >= begin:
            yield left + first, left + last


class _Meaning:
    """Whether a pattern matches a word in any of its forms; results are cached, because most words occur in a text many
    times."""

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self._matches = matches
        self._known: dict[str, bool] = {}

    def __call__(self, word: str) -> bool:
        if (known := self._known.get(word)) is None:
            known = self._matches(word.lower()) or (not word.isascii() and self._matches(usual(word).lower()))
            self._known[word] = known
        return known


def _marked(text: str, means: Callable[[str], bool]) -> Iterator[Span]:
    words = _WORD.finditer(text)
    parted = cuts(text)
    cut = next(parted, None)
    for match in words:
        halves = [match]
        while cut is not None and cut[0] <= halves[-1].end():
            if cut[0] == halves[-1].end() and (half := _WORD.match(text, cut[1])) is not None:
                halves.append(half)
            cut = next(parted, None)
        if len(halves) > 1 and means("".join(half[0] for half in halves)):
            yield halves[0].start(), halves[-1].end()
        else:
            for half in halves:
                yield from _alone(half, means)
        for _ in halves[1:]:
            next(words)


def _alone(match: re.Match[str], means: Callable[[str], bool]) -> Iterator[Span]:
    """Return the span of a word if it matches as written, else those of its matching letters that are words: of scripts
    without blanks."""
    if means(match[0]):
        yield match.span()
    elif not match[0].isascii():
        for at, letter in enumerate(match[0], match.start()):
            if is_alone(letter) and means(letter):
                yield at, at + 1


WIDTH = 150  # characters
_BEFORE = 40  # of them before the first match


def snippet(text: str, patterns: Collection[Pattern]) -> str:
    """About WIDTH characters of `text` with \\x02 and \\x03 around each match. If the text itself has none, characters
    of a part that is read otherwise; without any match, the beginning."""
    if patterns:
        matches = like(patterns)
        for reading in map(apart, readings(text)):
            first = next((m for m in WORD.finditer(reading) if matches(m[0].lower())), None)
            if first is not None:
                return _around(reading, first, matches)
    return text[:WIDTH]


def _around(text: str, first: re.Match[str], matches: Callable[[str], bool]) -> str:
    start = 0
    if first.start() > _BEFORE:  # begin with a whole word
        space = text.find(" ", first.start() - _BEFORE, first.start())
        start = space + 1 if space >= 0 else first.start()
    piece = text[start : max(start + WIDTH, first.end())]
    out, done = [], 0
    for match in WORD.finditer(piece):
        if matches(match[0].lower()):
            out += [piece[done : match.start()], "\x02", match[0], "\x03"]
            done = match.end()
    return together("".join([*out, piece[done:]]))
