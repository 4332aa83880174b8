"""Sparse files in tar archives: where their data belongs (GNU tar manual, "Storing Sparse Files")."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from readers.errors import DocumentError, ExceptionCode
from readers.streams import CHUNK

_BLOCK = 512
_MOST_PIECES = 1 << 20
_NUMBER = re.compile(rb"[0-9]{1,19}")


@dataclass(slots=True)
class Map:
    """Pieces of data as (offset, length), and how large the whole is. `in_data`: the map is at the start of the data
    (version 1.0); `extended`: further blocks of it are (old GNU format)."""

    pieces: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0
    in_data: bool = False
    extended: bool = False


def from_header(header: bytes) -> Map:
    """Of the old GNU format, type S: four pieces in the header."""
    found = Map(size=max(0, _octal(header[483:495])), extended=bool(header[482]))
    found.pieces += _pieces(header[386:482])
    return found


def from_records(records: Mapping[bytes, bytes], several: Sequence[bytes]) -> Map | None:
    """Of pax records, versions 0.0 (`several`: offset and length by turns), 0.1 and 1.0; None where there are none."""
    size = records.get(b"GNU.sparse.realsize") or records.get(b"GNU.sparse.size")
    if size is None or not _NUMBER.fullmatch(size):
        return None
    if records.get(b"GNU.sparse.major") == b"1":
        return Map(size=int(size), in_data=True)
    numbers = [int(n) for n in several or records.get(b"GNU.sparse.map", b"").split(b",") if _NUMBER.fullmatch(n)]
    return Map(pieces=list(zip(numbers[::2], numbers[1::2], strict=False)), size=int(size))


def expanded(found: Map, stored: int, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """The whole file: its data with the zeros between. `read` gives so many of its `stored` bytes; `corrupt` where the map
    does not fit them."""
    pieces, left = _in_data(read, stored) if found.in_data else (found.pieces, stored)
    at = 0
    for offset, length in pieces:
        if offset < at or length > left or offset + length > found.size:
            raise DocumentError(ExceptionCode.CORRUPT, "the map of a sparse file does not fit its data")
        yield from _zeros(offset - at)
        left -= length
        at = offset + length
        while length:
            data = read(min(CHUNK, length))
            length -= len(data)
            yield data
    yield from _zeros(found.size - at)
    if left:
        raise DocumentError(ExceptionCode.CORRUPT, f"{left:,} bytes of a sparse file are not in its map")


def _zeros(count: int) -> Iterator[bytes]:
    while count > 0:
        yield bytes(min(CHUNK, count))
        count -= CHUNK


def more_pieces(found: Map, block: bytes) -> None:
    """Add those of one further block of the old GNU format."""
    found.pieces += _pieces(block[:504])
    found.extended = bool(block[504:505].strip(b"\0")) and len(found.pieces) < _MOST_PIECES


def _pieces(raw: bytes) -> Iterator[tuple[int, int]]:
    for at in range(0, len(raw) - 23, 24):
        if not raw[at : at + 24].strip(b"\0 "):
            return
        yield _octal(raw[at : at + 12]), _octal(raw[at + 12 : at + 24])


def _octal(raw: bytes) -> int:
    if raw[0] & 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.strip(b" \0")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else 0


def _in_data(read: Callable[[int], bytes], stored: int) -> tuple[list[tuple[int, int]], int]:
    """The pieces by version 1.0, decimal numbers in lines that fill blocks, and how many bytes are data."""
    numbers: list[int] = []
    text, wanted, used = b"", 1, 0
    while len(numbers) < wanted:
        line, newline, rest = text.partition(b"\n")
        if not newline:
            if used >= stored or len(text) > _BLOCK:
                raise DocumentError(ExceptionCode.CORRUPT, "the map of a sparse file breaks off")
            text += read(_BLOCK)
            used += _BLOCK
            continue
        if not _NUMBER.fullmatch(line):
            raise DocumentError(ExceptionCode.CORRUPT, "the map of a sparse file holds what is no number")
        numbers.append(int(line))
        text = rest
        if len(numbers) == 1:
            wanted = 1 + 2 * min(numbers[0], _MOST_PIECES)
    return list(zip(numbers[1::2], numbers[2::2], strict=True)), max(0, stored - used)
