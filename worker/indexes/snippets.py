"""The part of a text around its first matches, for engines that make no snippets of plain text themselves."""

from __future__ import annotations

import re

from worker.indexes.query_language import WORD, apart, together
from worker.indexes.readings import readings

WIDTH = 150  # characters
_BEFORE = 40  # of them before the first match


def snippet(text: str, whole: set[str], begun: tuple[str, ...]) -> str:
    """About WIDTH characters of `text` with \\x02 and \\x03 around each word that matches; where none does as it stands, of
    a part that is read otherwise; its beginning without one."""
    if whole or begun:
        for reading in map(apart, readings(text)):
            first = next((m for m in WORD.finditer(reading) if _matches(m[0], whole, begun)), None)
            if first is not None:
                return _around(reading, first, whole, begun)
    return text[:WIDTH]


def _around(text: str, first: re.Match[str], whole: set[str], begun: tuple[str, ...]) -> str:
    start = 0
    if first.start() > _BEFORE:  # begin with a whole word
        space = text.find(" ", first.start() - _BEFORE, first.start())
        start = space + 1 if space >= 0 else first.start()
    piece = text[start : max(start + WIDTH, first.end())]
    out, done = [], 0
    for match in WORD.finditer(piece):
        if _matches(match[0], whole, begun):
            out += [piece[done : match.start()], "\x02", match[0], "\x03"]
            done = match.end()
    return together("".join([*out, piece[done:]]))


def _matches(word: str, whole: set[str], begun: tuple[str, ...]) -> bool:
    lower = word.lower()
    return lower in whole or (bool(begun) and lower.startswith(begun))
