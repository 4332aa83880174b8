"""What people wrote about a shape or picture, or made of letters (WordArt): properties of the drawing (Rich Text Format
Specification 1.9.1, "Drawing Properties"; their names are in [MS-ODRAW])."""

from __future__ import annotations

import re
from collections.abc import Iterator

from readers.charset import read_in
from readers.clean import paired

_LONGEST = 8_192  # bytes of a value, as it is written
_TOLD = re.compile(rb"\{\\sn (?:wzDescription|wzTooltip|gtextUNICODE)\}\s{0,8}\{\\sv[ \r\n]")
_ESCAPED = re.compile(
    rb"\\u(-?\d{1,5}) ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|\\[a-zA-Z]{1,32}-?\d{0,10} ?|[\r\n]+|([^\\\r\n]+)"
)


def said(data: bytes, start: int, stop: int | None, codec: str, fallback: int) -> Iterator[str]:
    """The texts of the properties between these places (None: of the one that begins there), of a document in this code
    page; `fallback` is how many characters follow each \\u for readers that do not know it. A value that does not end
    is left out."""
    one = _TOLD.match(data, start) if stop is None else None
    for match in filter(None, [one]) if stop is None else _TOLD.finditer(data, start, stop):
        end = data.find(b"}", match.end(), match.end() + _LONGEST)
        if end >= 0 and (text := plain(data[match.end() : end], codec, fallback).strip()):
            yield text


def plain(raw: bytes, codec: str, fallback: int) -> str:
    """A value as text: what is escaped in it decoded, control words left out."""
    out: list[str] = []
    owed = 0
    for code, coded, symbol, letters in _ESCAPED.findall(raw):
        if code:
            out.append((int(code) & 0xFFFF).to_bytes(2, "little").decode("utf-16-le", "surrogatepass"))
            owed = fallback
            continue
        piece = bytes((int(coded, 16),)) if coded else symbol + letters
        dropped = min(owed, len(piece))
        owed -= dropped
        out.append(read_in(piece[dropped:], codec))
    return paired("".join(out)).replace("\0", "")
