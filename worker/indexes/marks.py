"""Where the words that a query means stand in a text, for a person who reads it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from worker.indexes.nodes import Pattern
from worker.indexes.patterns import like
from worker.indexes.words import WORD, is_alone


def marks(
    text: str, patterns: Collection[Pattern], begin: int = 0, end: int | None = None
) -> Iterator[tuple[int, int]]:
    """Where each word that a pattern means begins, and what is behind its end, from `begin` to `end`. Words are as they are
    written: one that a hyphen cuts at a line's end, or that has letters in other forms, is found by a search and not here."""
    if not patterns:
        return
    matches = like(patterns)
    for match in WORD.finditer(text, begin, len(text) if end is None else end):
        if matches(match[0].lower()):
            yield match.span()
        elif not match[0].isascii():  # letters of scripts without blanks are words, each
            for at in range(*match.span()):
                if is_alone(text[at]) and matches(text[at].lower()):
                    yield at, at + 1
