"""Concordance DAT: a record per line, every value quoted, newlines in values as a character of their own."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import Literal

Encoding = Literal["utf-8", "utf-16-le", "cp1252"]
BOMS: dict[Encoding, bytes] = {"utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "cp1252": b""}
_NEWLINE = re.compile("\r\n|\r|\n")


_FIELD, _QUOTE, _LINE = "\x14", "\xfe", "\xae"  # Concordance's own delimiters: characters 20, 254 and 174
# Characters that would be read as a delimiter or as the end of a line; some readers accept all of Unicode's line ends.
_INSIDE = re.compile("[\x14\xfe\xae\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_TO_REPLACE = re.compile("[\r\n\x14\xfe\xae\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_BETWEEN = _QUOTE + _FIELD + _QUOTE
_END = _QUOTE + "\r\n"


def head(titles: Sequence[str], encoding: Encoding = "utf-8") -> bytes:
    """Return the start of a file: the byte-order mark and the line of titles."""
    return BOMS[encoding] + lines((titles,), encoding)


def lines(rows: Iterable[Sequence[str]], encoding: Encoding = "utf-8") -> bytes:
    """Return a line for each record. A delimiter inside a value is written as [U+00FE]; a character that the encoding
    lacks, and half of a surrogate pair, as a backslash escape; CRLF, CR and LF become the newline delimiter."""
    return "".join(map(_line, rows)).encode(encoding, "backslashreplace")


def _line(row: Sequence[str]) -> str:
    if _TO_REPLACE.search("".join(row)) is not None:
        row = [_NEWLINE.sub(_LINE, _INSIDE.sub(lambda found: f"[U+{ord(found[0]):04X}]", cell)) for cell in row]
    return _QUOTE + _BETWEEN.join(row) + _END
