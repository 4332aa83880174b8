"""Common parts of building a `Text`: metadata values that any store accepts, and text up to a limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from readers.base import Text
from readers.charset import Detected
from readers.errors import DocumentError
from readers.keys import KEYS
from readers.records import TextState

VALUE_CHARACTERS = 1_000  # of a value whose key has no limit of its own
_CHARACTERS = {name: key.characters for name, key in KEYS.items()}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\s]+")


def value(text: str | None, most: int = VALUE_CHARACTERS) -> str:
    """Return a metadata value on one line: no NUL, control characters or surrogates (PostgreSQL's jsonb refuses them),
    at most `most` characters."""
    if not text:
        return ""
    if text.isprintable() and "  " not in text:  # as most are
        return text.strip()[:most]
    return _UNPRINTABLE.sub(" ", text[: 4 * most]).strip()[:most]


def values(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return metadata from (key, raw value); empty values are dropped, the first of several wins."""
    out: dict[str, str] = {}
    for key, raw in pairs:
        if key not in out and raw and (text := value(raw, _CHARACTERS.get(key, VALUE_CHARACTERS))):
            out[key] = text
    return out


class Collector:
    """Pieces of text up to a number of characters."""

    def __init__(self, limit: int) -> None:
        self._pieces: list[str] = []
        self._left = limit
        self.cut = False  # something did not fit

    def add(self, piece: str) -> bool:
        """Take a piece, or as much as fits; return False when the limit is reached."""
        if len(piece) > self._left:
            piece = piece[: self._left]
            self.cut = True
        self._left -= len(piece)
        self._pieces.append(piece)
        return not self.cut

    def lines(self, lines: Iterable[str]) -> None:
        """Take each line with a line break, until the limit is reached."""
        all(self.add(line + "\n") for line in lines)

    def pieces(self, pieces: Iterable[str]) -> None:
        """Take the pieces that are not empty, until the limit is reached."""
        all(self.add(piece) for piece in pieces if piece)

    def text(self, separator: str = "") -> str:
        """Return everything taken so far."""
        return separator.join(self._pieces)

    def result(
        self,
        separator: str = "",
        error: DocumentError | None = None,
        *,
        detected: Detected | None = None,
        metadata: Mapping[str, Any] | None = None,
        pages: int | None = None,
    ) -> Text:
        """Return the text with its state: `truncated_by_limit` if it was cut, `guessed` if the detected charset may be
        another, else left to the caller. The document's `error` comes with the text, or is raised if there is no
        text."""
        text = self.text(separator)
        if error is not None and not text:
            raise error
        state = TextState.TRUNCATED_BY_LIMIT if self.cut else None
        out = Text(text=text, state=state, pages=pages, metadata=dict(metadata or {}), error=error)
        note_charset(out, detected)
        return out


def note_charset(out: Text, detected: Detected | None) -> None:
    """Record the charset of a text: its keys, and `guessed` if it may be another."""
    if detected is not None:
        out.metadata |= detected.metadata()
        out.state = out.state or (TextState.GUESSED if detected.guessed else None)


def paired(text: str) -> str:
    """Join halves of surrogate pairs, as 16-bit escapes write them; a lone half becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# Properties that a document's author, or a program, added to those that every document has: matter numbers, labels.

KEY = "custom_properties"
_MOST = 1_000


def noted(pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Return metadata from names and values, without those that have no value."""
    lines = list(islice(_lines(pairs), _MOST))
    return {KEY: lines} if lines else {}


def _lines(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, raw in pairs:
        if text := value(raw):
            yield value(f"{name}: {text}")


# Numbers of pages as people write them: `2, 5-7`.


def written(numbers: Iterable[int]) -> str:
    """Format rising numbers, consecutive ones as a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def read(text: str) -> Iterator[int]:
    """Yield the numbers one by one. Raises ValueError for text that `written` did not write."""
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
