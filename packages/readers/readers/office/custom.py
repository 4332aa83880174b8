"""Properties that a document's author, or a program, added to those that every document has: matter numbers, labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from readers import clean

KEY = "custom_properties"
_MOST = 1_000


def noted(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Metadata from names and values, those without a value left out."""
    lines = list(islice(_lines(pairs), _MOST))
    return {KEY: lines} if lines else {}


def _lines(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, raw in pairs:
        if said := clean.value(raw):
            yield clean.value(f"{name}: {said}")
