"""The part of a text around its first matches, for engines that make no snippets of plain text themselves."""

from __future__ import annotations

from worker.indexes.query_language import WORD, apart, together

WIDTH = 150  # characters
_BEFORE = 40  # of them before the first match


def snippet(text: str, whole: set[str], begun: tuple[str, ...]) -> str:
    """About WIDTH characters of `text` with \\x02 and \\x03 around each word that matches; its beginning without one."""
    text = apart(text)
    first = next((m for m in WORD.finditer(text) if _matches(m[0], whole, begun)), None) if whole or begun else None
    if first is None:
        return together(text[: 3 * WIDTH])[:WIDTH]
    start = 0
    if first.start() > _BEFORE:  # begin with a whole word
        space = text.find(" ", first.start() - _BEFORE, first.start())
        start = space + 1 if space >= 0 else first.start()
    piece = text[start : max(start + WIDTH, first.end())]
    out, last = [], 0
    for found in WORD.finditer(piece):
        if _matches(found[0], whole, begun):
            out += [piece[last : found.start()], "\x02", found[0], "\x03"]
            last = found.end()
    return together("".join([*out, piece[last:]]))


def _matches(word: str, whole: set[str], begun: tuple[str, ...]) -> bool:
    lower = word.lower()
    return lower in whole or (bool(begun) and lower.startswith(begun))
