"""The pages of an Access database (Jet 3 and 4, ACE) and the rows on them, as the file HACKING of mdbtools describes
them.

Only requested parts are read, so a database of any size needs little memory. Nothing in it is trusted: long values may
loop or be shared, and maps may name every page, so everything that is followed is counted against the size of the
file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from readers import ciphers
from readers.errors import DocumentError, corrupt, encrypted, too_large, truncated

DATA, DEFINITION, MAP = 1, 2, 5  # kinds of pages, in their first byte
_ACE = b"Standard ACE DB"
_VERSION = 0x14  # offset of the version, 0 for Access 97
# RC4 stream that hides the first page of every database, which contains the code page and the database's key.
_HIDDEN, _STREAM = slice(0x3C, 0x42), bytes.fromhex("7b42fb8abc4e")
_DELETED, _MOVED, _PLACE = 0x8000, 0x4000, 0x1FFF  # flags and mask of a row's place on its page
_KEPT = 256  # pages
_ROOM, _EACH = (
    16,
    64,
)  # how often the file's size may be read in all, and the cost of each step in addition to its bytes
_INLINE, _ONE_ROW, _LENGTH = 0x80000000, 0x40000000, 0x3FFFFFFF  # flags and mask of a long value's length
_LONG = struct.Struct("<II4x")  # its length and kind, and its position
_HOPS = 4  # the most moves of one row
_MOST_PAGES = 100  # of a definition, which has at most 255 columns and 32 indexes


class Layout(NamedTuple):
    """Offsets and sizes of fields in the pages of a version."""

    page: int  # bytes
    rows: int  # in a data page: number of rows; their places follow
    wide: int  # in a row: bytes of its number of columns, and of a place
    row_count: int  # in a table's definition: number of rows of the table …
    columns: int  # … number of variable columns, then of all columns, two bytes each …
    indexes: int  # … number of indexes …
    map: int  # … the map of its pages …
    first: int  # … and start of its columns without indexes; each index takes `each` bytes before them
    each: int
    # Kind, number, place among variable ones, two bytes more, flags, further flags (not in Access 97), place, length
    column: struct.Struct
    name: str  # how the length of a column's name is stored


JET3 = Layout(2048, 8, 1, 12, 23, 31, 35, 43, 8, struct.Struct("<BHH4x2s2xB0sHH"), "<B")
JET4 = Layout(4096, 12, 2, 16, 43, 51, 55, 63, 12, struct.Struct("<B4xHH2x2s2xBs4xHH"), "<H")


class Database:
    """An open database; no long value of more than `most` bytes is read. Raises DocumentError `encrypted` if a password
    is needed."""

    def __init__(self, file: BinaryIO, size: int, most: int) -> None:
        head = file.read(_HIDDEN.stop)
        if len(head) < _HIDDEN.stop:
            raise truncated("the database ends in its first page")
        self.layout = JET4 if head[_VERSION] else JET3
        plain = bytes(a ^ b for a, b in zip(head[_HIDDEN], _STREAM, strict=True))
        self.code_page, self._key = struct.unpack("<HI", plain)
        if self._key and head[4:].startswith(_ACE):
            raise encrypted("the database is encrypted with a password")
        self._file, self._room, self._most = file, _ROOM * size + 1_000_000, most
        self._kept: dict[int, bytes] = {}

    def count(self, size: int) -> None:
        """Count bytes that are followed. Raises DocumentError if they exceed what this file can contain."""
        self._room -= size + _EACH
        if self._room < 0:
            raise corrupt("its pages refer to themselves")

    def page(self, number: int, kind: int = DATA) -> bytes:
        """Return a page of that kind, decoded."""
        page = self._kept.get(number)
        if page is None:
            size = self.layout.page
            self._file.seek(number * size)
            page = self._file.read(size)
            if len(page) < size:
                raise truncated(f"the database ends before its page {number:,}")
            if self._key and number:  # repeated, because the library requires a longer key; the result is the same
                page = ciphers.rc4(2 * struct.pack("<I", self._key ^ number)).update(page)
            if len(self._kept) >= _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[number] = page
        if page[0] != kind:
            raise corrupt(f"page {number:,} has the wrong type")
        return page

    def definition(self, number: int) -> bytes:
        """Return the whole definition of a table: a page and those that follow it, without their heads."""
        pieces, seen = list[bytes](), set[int]()
        while number and number not in seen and len(seen) < _MOST_PAGES:
            seen.add(number)
            page = self.page(number, DEFINITION)
            self.count(len(page))
            pieces.append(page[8:] if pieces else page)
            (number,) = struct.unpack_from("<I", page, 4)
        return b"".join(pieces)

    def rows(self, page: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the existing rows, and whether each was moved elsewhere. They cannot overlap."""
        count, end = self._rows(page), len(page)
        for place in struct.unpack_from(f"<{count}H", page, self.layout.rows + 2):
            start = place & _PLACE
            if start > end:
                raise corrupt("rows of a page overlap")
            if not place & _DELETED and start < end:
                yield page[start:end], bool(place & _MOVED)
            end = start

    def _rows(self, page: bytes) -> int:
        count = int.from_bytes(page[self.layout.rows : self.layout.rows + 2], "little")
        if self.layout.rows + 2 + 2 * count > len(page):
            raise corrupt("a page has more rows than it has room for")
        return count

    def moved(self, row: bytes) -> bytes:
        """Return a moved row from its new location. Its deletion mark there keeps it from being read twice."""
        for _ in range(_HOPS):
            if len(row) < 4:
                break
            row, moved = self._row(int.from_bytes(row[:4], "little"))
            if not moved:
                return row
        raise corrupt("a row was moved to a place that does not exist")

    def row(self, pointer: int) -> bytes:
        """Return a row by its number (the lowest byte) and the number of its page."""
        return self._row(pointer)[0]

    def _row(self, pointer: int) -> tuple[bytes, bool]:
        page, number = self.page(pointer >> 8), pointer & 0xFF
        if number >= self._rows(page):
            raise corrupt("a pointer does not refer to a row")
        at = self.layout.rows + 2 + 2 * number
        place = int.from_bytes(page[at : at + 2], "little")
        end = int.from_bytes(page[at - 2 : at], "little") & _PLACE if number else len(page)
        row = page[place & _PLACE : end]
        self.count(len(row))
        return row, place & (_DELETED | _MOVED) == _MOVED

    def long_value(self, field: bytes) -> tuple[bytes, DocumentError | None]:
        """Return the content of a memo or object, from its own row, another, or a chain of them, and the error if it is
        incomplete; nothing if it is too long."""
        if len(field) < _LONG.size:
            return b"", corrupt("a long value has no room for its length")
        header, pointer = _LONG.unpack_from(field)
        left, pieces, error = header & _LENGTH, list[bytes](), None
        if left > self._most:
            return b"", too_large(f"{left:,} bytes in a column; the limit is {self._most:,}")
        if header & _INLINE:
            return field[_LONG.size :][:left], None
        try:
            if header & _ONE_ROW:
                return self.row(pointer)[:left], None
            while pointer and left > 0:
                row = self.row(pointer)
                pieces.append(row[4:][:left])
                left -= len(pieces[-1])
                pointer = int.from_bytes(row[:4], "little") if len(row) > 4 else 0
            error = corrupt("a long value breaks off") if left > 0 else None
        except DocumentError as failed:
            error = failed
        return b"".join(pieces), error

    def owned(self, pointer: int) -> Iterator[int]:
        """Yield the numbers of the pages in a map, which is a row, or refers to pages of its own."""
        found = self.row(pointer)
        if len(found) >= 5 and found[0] == 0:
            yield from _bits(int.from_bytes(found[1:5], "little"), found[5:])
        elif found[:1] == b"\1":
            each = 8 * (self.layout.page - 4)
            for number, (page,) in enumerate(struct.iter_unpack("<I", found[1 : 1 + (len(found) - 1 & ~3)])):
                if page:
                    self.count(self.layout.page)
                    yield from _bits(number * each, self.page(page, MAP)[4:])
        else:
            raise corrupt("a map of pages is invalid")


def _bits(first: int, data: bytes) -> Iterator[int]:
    """Yield the numbers of the set bits, the lowest bit of a byte first."""
    for at, byte in enumerate(data):
        if byte:
            yield from (first + 8 * at + bit for bit in range(8) if byte >> bit & 1)
