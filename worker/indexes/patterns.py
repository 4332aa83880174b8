"""Which words a pattern of a query means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from worker.indexes.nodes import Fuzzy, Pattern, Wild, Word
from worker.indexes.words import TOO_LONG


def like(patterns: Iterable[Pattern]) -> Callable[[str], bool]:
    """Whether one of the patterns means this word (in small letters). None means a word that is too long for an index, whatever a
    text has of them: it is not found, and to compare a line of a million letters would take long."""
    given = set(patterns)
    words = {pattern.text for pattern in given if isinstance(pattern, Word)}
    wilds = [wild(pattern.text) for pattern in given if isinstance(pattern, Wild)]
    fuzzy = [pattern for pattern in given if isinstance(pattern, Fuzzy)]

    def matches(word: str) -> bool:
        return word in words or (
            len(word if word.isascii() else word.encode("utf-8", "replace")) < TOO_LONG and resembles(word)
        )

    def resembles(word: str) -> bool:
        return any(each.fullmatch(word) for each in wilds) or any(within(each.text, word, each.edits) for each in fuzzy)

    return matches


def wild(text: str) -> re.Pattern[str]:
    """A pattern of letters, digits, `*` and `?` as a regular expression. What stands between two `*` is taken where it comes
    first, and no other place of it is tried (that is what `(?>` says): with several `*` these would be very many."""
    first, *rest = re.escape(text).replace(r"\?", ".").split(r"\*")
    between = "".join(f"(?>.*?{piece})" for piece in rest[:-1] if piece)
    return re.compile(first + between + "".join(f".*{last}" for last in rest[-1:]), re.DOTALL)


def within(a: str, b: str, edits: int) -> bool:
    """Whether one becomes the other by so many letters more, less or other (Levenshtein)."""
    if abs(len(a) - len(b)) > edits:
        return False
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
        if min(row) > edits:
            return False
    return row[-1] <= edits
