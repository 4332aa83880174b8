"""Comma-separated values and their relatives (RFC 4180): unchanged text, and the table's shape."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from operator import itemgetter

from readers.base import Declared, LeafHandler, Source, Text
from readers.charset import CHARSET_KEYS
from readers.records import Limits
from readers.text.plain import decoded_text

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 20


def _delimiter(text: str) -> str:
    """Return the delimiter on which the first lines agree best; "," if none is found."""
    lines = [line for line in text[:65_536].splitlines()[:_SAMPLE_LINES] if line.strip()]
    best, score = ",", 0.0
    for candidate in _DELIMITERS:
        counts = [line.count(candidate) for line in lines]
        if not counts or not max(counts):
            continue
        agreed = max(counts.count(count) for count in set(counts) if count) / len(counts)
        if agreed > score:
            best, score = candidate, agreed
    return best


def _shape(text: str, delimiter: str) -> tuple[int, int]:
    """Return rows, and columns of the first row. Quoted line breaks are respected if the quotes can be followed."""
    first = next(csv.reader(next(_lines(text), "").splitlines(), delimiter=delimiter), [])
    if '"' not in text:
        return _count(text), len(first)
    try:
        reader = csv.reader(_lines(text), delimiter=delimiter)
        columns = len(next(reader, []))
        return 1 + sum(map(bool, reader)), columns
    except csv.Error:
        return _count(text), len(first)


# Line ends of str.splitlines(); a list of all lines would take many times the memory of the text.
_ENDS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE = re.compile(f"[^{_ENDS}]*+(?:\r\n|[{_ENDS}])|[^{_ENDS}]++")
_FULL = re.compile(f"[^{_ENDS}]++")


def _lines(text: str) -> Iterator[str]:
    """Return the lines with their ends."""
    return map(itemgetter(0), _LINE.finditer(text))


def _count(text: str) -> int:
    """Return the number of lines that are not empty."""
    return sum(1 for _ in _FULL.finditer(text))


class CsvHandler(LeafHandler):
    """CSV and TSV of any size."""

    name = "csv"
    whole = False
    declared = Declared(
        title="Tables as text (CSV, TSV)",
        extensions=("csv", "tsv", "tab"),
        text="unchanged, in any character set",
        metadata=(*CHARSET_KEYS, "delimiter", "rows", "columns"),
        leaves_out=("the number of rows and columns beyond the text limit",),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the unchanged text; `charset`, `delimiter`, `rows` (header included) and `columns` as metadata, for
        the part within the limit of characters."""
        out = decoded_text(source, limits)
        if out.text:
            delimiter = _delimiter(out.text)
            try:
                rows, columns = _shape(out.text, delimiter)
            except csv.Error:
                rows, columns = _count(out.text), 1
            out.metadata.update(delimiter=delimiter, rows=rows, columns=columns)
        return out
