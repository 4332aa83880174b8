"""Lists of search terms as people bring them: a text file, one term a line, in whatever charset."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from core.reading import read_problem
from worker.indexes.query_language import parse

MOST_BYTES = 10_000_000
MOST_TERMS = 10_000
_SHOWN = 5
_LINE_END = re.compile(r"\r\n?|\n")  # as in a page's field; U+2028, form feeds and their like are blanks in a term
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, which begins alike
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Term:
    """One line of a list."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class TermList:
    """What was read; `charset` is how."""

    terms: tuple[Term, ...]
    charset: str


def read_terms(path: Path, charset: str | None = None) -> TermList:
    """The terms of a file, in that charset or in the one that its bytes show. Raises UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(read_problem(path, error)) from error
    if len(data) > MOST_BYTES:
        raise UsageError(f"{path} has more than {MOST_BYTES:,} bytes; it is not a list of terms")
    used = charset or charset_of(data)
    try:
        text = data.decode(used)
    except LookupError as error:
        raise UsageError(f"there is no character set {used!r}; use for example utf-8, utf-16 or cp1252") from error
    except UnicodeError as error:
        where = f"byte {error.start + 1}" if isinstance(error, UnicodeDecodeError) else "it"
        raise UsageError(
            f"{path} is not in {used}: {where} is invalid; give its character set with --charset"
        ) from error
    return TermList(listed(_LINE_END.split(text.removeprefix("\ufeff")), str(path)), used)


def charset_of(data: bytes) -> str:
    """By its mark; else UTF-16 where bytes of zero stand as there, UTF-8 where it is that, and cp1252 what is left."""
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return charset
    if (wide := _wide(data)) is not None:
        return wide
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _wide(data: bytes) -> str | None:
    """UTF-16's name where half of the letters, or of the ends of lines, have a byte of zero on its side; a stray one,
    as copied out of a database, does not make a list UTF-16."""
    little, big = data[1::2].count(0), data[::2].count(0)
    charset, zeros = ("utf-16-le", little) if little >= big else ("utf-16-be", big)
    if not zeros or 4 * zeros >= len(data):
        return charset if zeros else None
    try:
        ends = data.decode(charset).count("\n")
    except UnicodeDecodeError:
        return None
    return charset if ends and 2 * ends >= data.count(b"\n") else None


def listed(lines: Iterable[str], where: str) -> tuple[Term, ...]:
    """Lines that are not blank, as terms, each one that can be read as a query. Raises UsageError that names every place
    where one cannot, the first few with what is wrong."""
    terms: list[Term] = []
    wrong: list[str] = []
    for line, text in enumerate(map(str.strip, lines), 1):
        if not text:
            continue
        if len(terms) == MOST_TERMS:
            raise UsageError(f"{where} has more than {MOST_TERMS:,} terms; split it into several lists")
        try:
            parse(text)
        except UsageError as error:
            wrong.append(f"line {line}: {error}" if len(wrong) < _SHOWN else "")
            continue
        terms.append(Term(line, text))
    if wrong:
        more = f"; and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
        raise UsageError(f"{where}: {len(wrong):,} terms have syntax errors: {'; '.join(wrong[:_SHOWN])}{more}")
    if not terms:
        raise UsageError(f"{where} has no terms; write one a line")
    return tuple(terms)
