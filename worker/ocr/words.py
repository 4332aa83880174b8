"""Tesseract's table of words (its output `tsv`) as text: lines and paragraphs again, what it only guesses left out.

Columns: level page block paragraph line word left top width height confidence text. Level 5 is a word; confidence is 0 to
100. Into pictures without any text it reads words of which it is sure by 17 to 27 on average, single ones by 90; clear print
has 80 to 96.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_COLUMNS = 12
_WORD = "5"


@dataclass(frozen=True, slots=True)
class Recognised:
    """Text of one page."""

    text: str = ""
    letters: int = 0  # characters of words
    confidence: float = 0.0  # of all letters together: their mean times `letters`
    cut: bool = False  # there was more than a page may give


def recognised(table: bytes, page: float, word: float, *, cut: bool = False) -> Recognised:
    """The words of at least confidence `word`, where that of all letters is `page` on average; nothing where it is less.
    Lines that are none of the table, as the one where it was cut, are left out."""
    words = list(_words(table))
    letters = sum(len(one.text) for one in words)
    if not letters or sum(one.sure * len(one.text) for one in words) / letters < page:
        return Recognised(cut=cut)
    kept = [one for one in words if one.sure >= word]
    pieces: list[str] = []
    before: tuple[str, ...] = ()
    for one in kept:
        pieces += (_between(before, one.line), one.text)
        before = one.line
    letters, sure = sum(len(one.text) for one in kept), sum(one.sure * len(one.text) for one in kept)
    return Recognised("".join(pieces), letters, sure, cut)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    sure: float
    line: tuple[str, ...]  # page, block, paragraph, line


def _words(table: bytes) -> Iterator[_Word]:
    for line in table.decode("utf-8", "ignore").split("\n"):
        columns = line.rstrip("\r").split("\t")
        if len(columns) != _COLUMNS or columns[0] != _WORD:
            continue
        text, sure = columns[11].replace("\0", "").strip(), _number(columns[10])
        if text and sure is not None:
            yield _Word(text, sure, tuple(columns[1:5]))


def _between(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    """What stands before a word: of the same line a blank, of another paragraph an empty line."""
    if not before:
        return ""
    if before == now:
        return " "
    return "\n" if before[:-1] == now[:-1] else "\n\n"


def _number(text: str) -> float | None:
    """A confidence; None for what is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 100 else None
