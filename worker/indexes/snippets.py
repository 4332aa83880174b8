"""The part of a text around its first matches, for engines that make no snippets of plain text themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from worker.indexes.nodes import Pattern
from worker.indexes.patterns import like
from worker.indexes.readings import readings
from worker.indexes.words import WORD, apart, together

WIDTH = 150  # characters
_BEFORE = 40  # of them before the first match


def snippet(text: str, patterns: Collection[Pattern]) -> str:
    """About WIDTH characters of `text` with \\x02 and \\x03 around each word that a pattern means; where none does as it
    stands, of a part that is read otherwise; its beginning without one."""
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
