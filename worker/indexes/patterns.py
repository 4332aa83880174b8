"""Which words a pattern of a query means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from worker.indexes.nodes import Fuzzy, Pattern, Wild, Word


def like(patterns: Iterable[Pattern]) -> Callable[[str], bool]:
    """Whether one of the patterns means this word (in small letters)."""
    given = set(patterns)
    words = {pattern.text for pattern in given if isinstance(pattern, Word)}
    wilds = [wild(pattern.text) for pattern in given if isinstance(pattern, Wild)]
    fuzzy = [pattern for pattern in given if isinstance(pattern, Fuzzy)]

    def matches(word: str) -> bool:
        return (
            word in words
            or any(each.fullmatch(word) for each in wilds)
            or any(within(each.text, word, each.edits) for each in fuzzy)
        )

    return matches


def wild(text: str) -> re.Pattern[str]:
    """A pattern of letters, digits, `*` and `?` as a regular expression."""
    return re.compile(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


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
