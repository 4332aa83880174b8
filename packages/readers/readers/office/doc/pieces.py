"""The characters of a Word document by its piece table ([MS-DOC] 2.4.1), and those that are readable without one."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from readers.errors import DocumentError, ExceptionCode
from readers.office.doc.fib import Fib
from readers.office.doc.fonts import Fonts

_COMPRESSED = 0x40000000
_PIECES = 1_000_000
_TABLE_AT_ALL = re.compile(rb"\x02(?=(.{4})\0\0\0\0)", re.DOTALL)  # its size, and that it begins at character 0


@dataclass(frozen=True, slots=True)
class PieceTable:
    """The start of each piece in the text (and the end of the last), and its location."""

    bounds: tuple[int, ...]
    places: tuple[int, ...]  # fewer than there are pieces where the table is cut short
    error: DocumentError | None = None  # what is wrong with the table itself


def fonts_of(stream: bytes, fib: Fib) -> Fonts | None:
    """Return what decides the code pages of a document of Word 6 or 95; later ones need none."""
    return Fonts(stream, fib.codec, slice(fib.first, fib.end)) if fib.old else None


def pieces(stream: bytes, tables: Sequence[bytes], fib: Fib, fonts: Fonts | None) -> Iterator[str]:
    """Yield the document's characters in order, piece by piece; `tables` are the streams that may hold its piece table,
    the one it names first. Raises DocumentError, after all readable pieces, when the table or a piece is outside the
    file, or the pieces do not add up to the document's count."""
    if fonts and not (fib.complex and fib.clx[1]):
        yield _run(stream, fib, fonts)
        if fib.end > len(stream):
            raise DocumentError(ExceptionCode.TRUNCATED, "the text continues after the end of the file")
        return
    try:
        table = piece_table(tables, fib)
    except DocumentError:
        yield _run(stream, fib, fonts)
        raise
    yield from _by_table(stream, table, fib, fonts)


def _run(stream: bytes, fib: Fib, fonts: Fonts | None) -> str:
    """All text in one run, as the first block declares. Characters have two bytes where there are twice as many bytes
    as it counts (far-eastern editions of Word 95, and documents of one UTF-16 piece)."""
    data = stream[fib.first : max(fib.first, fib.end)]
    size = len(data) if fonts else fib.end - fib.first  # the end of the text may be cut off
    if fib.announced and size >= 2 * fib.announced:
        return data[: 2 * fib.announced].decode("utf-16-le", "replace")
    return fonts.text(stream, fib.first, fib.end) if fonts else data.decode(fib.codec, "replace")


def _by_table(stream: bytes, table: PieceTable, fib: Fib, fonts: Fonts | None) -> Iterator[str]:
    error, units, wide = table.error, 0, not fib.old or (fib.extended and _apart_in_two_bytes(table))
    left = len(stream)  # a document's pieces do not overlap: all together they are no longer than the stream
    for i, place in enumerate(table.places):
        count = table.bounds[i + 1] - table.bounds[i]
        if count < 0:
            error = error or DocumentError(ExceptionCode.CORRUPT, "the pieces of the text are out of order")
        if count <= 0:
            continue
        units += count
        if not wide or (place & _COMPRESSED and not fib.old):
            at, size, codec = (place if fib.old else (place & ~_COMPRESSED) // 2), count, fib.codec
        else:
            at, size, codec = place, 2 * count, "utf-16-le"
        data = stream[at : at + min(size, max(left, 0))]
        left -= len(data)
        by_font = fonts if codec == fib.codec else None
        yield by_font.text(stream, at, at + len(data)) if by_font else data.decode(codec, "replace")
        if len(data) < size:
            error = error or DocumentError(ExceptionCode.TRUNCATED, "a piece of the text is outside the file")
    if error is None and not fib.old and units < fib.announced:
        detail = f"its pieces have {units:,} characters, the document {fib.announced:,}"
        error = DocumentError(ExceptionCode.CORRUPT, detail)
    if error is not None:
        raise error


def _apart_in_two_bytes(table: PieceTable) -> bool:
    """Whether pieces of Word 95 have room for two bytes a character, which is the only sign of their width."""
    sizes = (2 * (b - a) for a, b in itertools.pairwise(table.bounds))
    lie = sorted(zip(table.places, sizes, strict=False))
    return all(at + size <= after for (at, size), (after, _) in itertools.pairwise(lie))


def piece_table(tables: Sequence[bytes], fib: Fib) -> PieceTable:
    """Return the piece table at its declared location; else any with as many characters as the document counts. Raises
    DocumentError `corrupt` where there is none."""
    if tables and (table := _in_clx(tables[0], *fib.clx)) is not None:
        return table
    if not fib.old and fib.announced:
        for stream in tables:
            for place in _TABLE_AT_ALL.finditer(stream):
                size = int.from_bytes(place[1], "little")
                end = place.end() + 4 + size // 12 * 4  # of its last bound
                if size % 12 == 4 and stream[end : end + 4] in (_word(fib.announced), _word(fib.announced + 1)):
                    error = DocumentError(
                        ExceptionCode.CORRUPT, "the piece table is not at the position that the document gives"
                    )
                    return _read(stream[place.end() + 4 : place.end() + 4 + size], size // 12, error)
    raise DocumentError(ExceptionCode.CORRUPT, "the document has no piece table")


def _word(number: int) -> bytes:
    return struct.pack("<I", min(number, 0xFFFFFFFF))


def _in_clx(stream: bytes, start: int, size: int) -> PieceTable | None:
    """The PlcPcd in a Clx, past the property modifiers in front of it (2.9.38). Where its size is not that of what
    follows, whichever gives pieces in order counts."""
    at, end = start, min(start + size, len(stream))
    while at + 5 <= end and stream[at] == 1:
        at += 3 + int.from_bytes(stream[at + 1 : at + 3], "little")
    if at + 5 > end or stream[at] != 2:
        return None
    announced, data = int.from_bytes(stream[at + 1 : at + 5], "little"), stream[at + 5 : end]
    if announced <= len(data):
        return _read(data[:announced], announced // 12) if announced >= 16 else None
    error = DocumentError(ExceptionCode.TRUNCATED, "the piece table is cut short")
    for count in (announced // 12, (len(data) - 4) // 12):
        if count > 0 and 4 * (count + 1) + 8 <= len(data):
            table = _read(data, count, error)
            if all(a <= b for a, b in itertools.pairwise(table.bounds)):
                return table
    return None


def _read(data: bytes, count: int, error: DocumentError | None = None) -> PieceTable:
    """A table of so many pieces, all of whose bounds are there."""
    count = min(count, (len(data) - 4) // 4)
    behind = 4 * (count + 1)
    there = min(count, (len(data) - behind) // 8, _PIECES)
    bounds = struct.unpack_from(f"<{count + 1}I", data)
    places = struct.unpack_from("<" + "2xI2x" * there, data, behind)
    return PieceTable(bounds, places, error)
