"""Where the words that a query means stand in a text, for a person who reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from worker.indexes.nodes import Pattern
from worker.indexes.patterns import like
from worker.indexes.readings import AROUND, COMPOSING, cuts, usual
from worker.indexes.words import is_alone

# A word with the marks on its letters, which are characters of their own where a text is decomposed.
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{''.join(sorted(COMPOSING))}])*")
Span = tuple[int, int]


def marks(text: str, patterns: Collection[Pattern], begin: int = 0, end: int | None = None) -> Iterator[Span]:
    """Where each word that a pattern means begins, and what is behind its end; of those that begin from `begin` to `end`. As the
    index has them, words are what is written, what the halves of one that is parted (as by a hyphen at a line's end) make
    together, and letters in their usual form."""
    if not patterns:
        return
    end, left = len(text) if end is None else end, max(0, begin - AROUND)  # a word may begin before, and end behind
    for first, last in _marked(text[left : end + AROUND], _Meaning(like(patterns))):
        if left + first >= end:
            return
        if left + first >= begin:
            yield left + first, left + last


class _Meaning:
    """Whether a pattern means a word in any of its forms; remembered, for most words stand in a text many times."""

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
    """A word as it is written, else those of its letters that are words, each: of scripts without blanks."""
    if means(match[0]):
        yield match.span()
    elif not match[0].isascii():
        for at, letter in enumerate(match[0], match.start()):
            if is_alone(letter) and means(letter):
                yield at, at + 1
