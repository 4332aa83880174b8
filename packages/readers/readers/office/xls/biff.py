"""Records of a workbook stream ([MS-XLS] 2.1.4) of BIFF5 to BIFF8, and the strings in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from readers.errors import DocumentError, truncated

BOF, EOF, CONTINUE = 0x0809, 0x000A, 0x003C
_HEADER = struct.Struct("<HH")
_DOUBLE, _LONG = struct.Struct("<d"), struct.Struct("<Q")
CONTINUED = CONTINUE.to_bytes(2, "little")  # the first bytes of such a record
_WIDE, _PHONETIC, _RICH = 0x01, 0x04, 0x08  # flags of a string (2.5.293)


def records(stream: bytes) -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield (offset, type, data) of each record; the data in pieces, those of its Continue records after its own.
    Raises DocumentError `truncated`, after the readable records, if the stream breaks off."""
    at, size = 0, len(stream)
    while at + 4 <= size:
        start = at
        kind, pieces, at = record(stream, at)
        if kind or len(pieces[0]):  # zeros fill the stream up to its sector
            yield start, kind, pieces
    if at > size:
        raise cut_short()


def record(stream: bytes, at: int) -> tuple[int, list[bytes], int]:
    """Return the type and data of the record at this offset, whose header is complete, and the next offset."""
    kind, length = _HEADER.unpack_from(stream, at)
    at += 4
    pieces = [stream[at : at + length]]
    at += length
    while stream.startswith(CONTINUED, at) and at + 4 <= len(stream):
        length = _HEADER.unpack_from(stream, at)[1]
        pieces.append(stream[at + 4 : at + 4 + length])
        at += 4 + length
    return kind, pieces, at


def cut_short() -> DocumentError:
    """Return the error for a stream whose last record exceeds its end."""
    return truncated("the workbook breaks off in the middle of a record")


class Strings:
    """Reader of strings that continue in Continue records, each of which begins their characters with a byte of flags
    (2.5.293). Reading beyond the last piece returns nothing."""

    def __init__(self, pieces: list[bytes], at: int = 0) -> None:
        self._pieces, self._piece, self._at = pieces, 0, at

    @property
    def more(self) -> bool:
        """Whether anything is left."""
        self._advance()
        return self._piece < len(self._pieces)

    def _advance(self) -> None:
        while self._piece < len(self._pieces) and self._at >= len(self._pieces[self._piece]):
            self._at -= len(self._pieces[self._piece])
            self._piece += 1

    def number(self, size: int) -> int:
        """Return an unsigned number of `size` bytes."""
        self._advance()
        if self._piece >= len(self._pieces):
            return 0
        data = self._pieces[self._piece][self._at : self._at + size]
        self._at += size
        return int.from_bytes(data, "little")

    def string(self, count_bytes: int = 2) -> str:
        """Read one string with its length (of `count_bytes` bytes) and flags before it. Its phonetic reading follows,
        if it has one; formatting runs are skipped."""
        if (simple := self._simple(count_bytes)) is not None:
            return simple
        count, flags = self.number(count_bytes), self.number(1)
        runs = self.number(2) if flags & _RICH else 0
        reading = self.number(4) if flags & _PHONETIC else 0
        text = self.characters(count, flags)
        self._at += 4 * runs
        read = self._reading(reading) if reading else ""
        return f"{text} {read}" if read else text

    def _reading(self, size: int) -> str:
        """Return the phonetic reading of the preceding string from an ExtRst of `size` bytes (2.5.86, 2.5.219)."""
        got: list[bytes] = []
        while size > 0 and self.more:
            got.append(self._pieces[self._piece][self._at : self._at + size])
            self._at += len(got[-1])
            size -= len(got[-1])
        raw = b"".join(got)
        end = 14 + 2 * int.from_bytes(raw[12:14], "little")
        return raw[14:end].decode("utf-16-le", "replace") if raw[:2] == b"\1\0" and end <= len(raw) else ""

    def rest(self) -> Iterator[str]:
        """Yield all remaining strings, each with a length of two bytes."""
        while self.more:
            piece, at = self._pieces[self._piece], self._at
            size = len(piece)
            while at + 3 <= size and (wide := piece[at + 2]) <= _WIDE:  # simple ones, as below
                end = at + 3 + ((piece[at] | piece[at + 1] << 8) << wide)
                if end > size:
                    break
                yield piece[at + 3 : end].decode("utf-16-le" if wide else "latin-1", "replace")
                at = end
            self._at = at
            if self.more:
                yield self.string()

    def _simple(self, count_bytes: int) -> str | None:
        """Read a string without runs and readings that is completely in one piece, as nearly all are."""
        piece = self._pieces[self._piece] if self._piece < len(self._pieces) else b""
        begin = self._at + count_bytes + 1
        if begin > len(piece) or piece[begin - 1] > _WIDE:
            return None
        wide = piece[begin - 1]
        end = begin + (int.from_bytes(piece[self._at : begin - 1], "little") << wide)
        if end > len(piece):
            return None
        self._at = end
        return piece[begin:end].decode("utf-16-le" if wide else "latin-1", "replace")

    def characters(self, count: int, flags: int) -> str:
        """Return `count` characters; those after a piece's end follow flags of their own."""
        out: list[str] = []
        while count > 0 and self._piece < len(self._pieces):
            piece = self._pieces[self._piece]
            width = 2 if flags & _WIDE else 1
            data = piece[self._at : self._at + count * width]
            out.append(data.decode("utf-16-le" if width == 2 else "latin-1", "replace"))
            got = len(data) // width
            count -= got
            self._at += len(data)
            if count > 0:
                self._piece, self._at = self._piece + 1, 0
                flags = self.number(1) if self._piece < len(self._pieces) else 0
        return "".join(out)


def rk(word: int) -> float:
    """Decode an RkNumber (2.5.218): the upper bits of a double or a whole number, in hundredths or not."""
    if word & 2:
        value = float(word - 0x1_0000_0000 >> 2 if word & 0x8000_0000 else word >> 2)
    else:
        value = float(_DOUBLE.unpack(_LONG.pack((word & 0xFFFFFFFC) << 32))[0])
    return value / 100 if word & 1 else value
