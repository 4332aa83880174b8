"""Streams that containers hand out: a range of a file, and bytes followed by more bytes or by an error."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO, cast

from readers.errors import DocumentError

SMALL_MEMBER = 8_000_000  # members up to this size are handed out as bytes, larger ones as streams
CHUNK = 1 << 18


class RangeStream(io.RawIOBase):
    """`length` bytes of a file from `start`; each read seeks first, so the file may be used in between. Does not
    close the file."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        super().__init__()
        self._file, self._at, self._left = file, start, length

    @classmethod
    def buffered(cls, file: BinaryIO, start: int, length: int) -> BinaryIO:
        """The range as a buffered reader."""
        return io.BufferedReader(cls(file, start, length), CHUNK)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        self._file.seek(self._at)
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._at += len(data)
        self._left -= len(data)
        return len(data)


class JoinedRange:
    """Bytes, and behind them a range of a file that others move about in. What ArchiveReader needs of a file."""

    def __init__(self, prefix: bytes, file: BinaryIO, start: int, stop: int) -> None:
        self._prefix, self._file, self._start = prefix, file, start
        self.size = len(prefix) + max(0, stop - start)
        self._at = 0

    def tell(self) -> int:
        return self._at

    def seek(self, position: int) -> int:
        self._at = position
        return position

    def read(self, count: int) -> bytes:
        count = min(count, self.size - self._at)
        if self._at < len(self._prefix):
            data = self._prefix[self._at : self._at + count]
        else:
            self._file.seek(self._start + self._at - len(self._prefix))
            data = self._file.read(count)
        self._at += len(data)
        return data


class PieceStream(io.RawIOBase):
    """What `produce` gives piece by piece until it gives b"". A DocumentError that it raises comes out of the read
    that has nothing else to give, so every byte before it arrives."""

    def __init__(self, produce: Callable[[], bytes], first: bytes = b"", error: DocumentError | None = None) -> None:
        super().__init__()
        self._produce = produce
        self._ready = memoryview(first)
        self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        if not self._ready:
            if self._error is not None:
                raise self._error
            self._ready = memoryview(self._produce())
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def read(self, size: int | None = -1) -> bytes:
        """`size` bytes, fewer only at the end or before an error, which comes with the next read. All bytes when
        `size` is negative: then an error comes at once."""
        pieces: list[bytes] = []
        left = -1 if size is None else size
        while left:
            if not self._ready:
                if self._error is None:
                    try:
                        self._ready = memoryview(self._produce())
                    except DocumentError as error:
                        self._error = error
                if self._error is not None and (left < 0 or not pieces):
                    raise self._error
                if self._error is not None or not self._ready:
                    break
            piece = bytes(self._ready if left < 0 else self._ready[:left])
            self._ready = self._ready[len(piece) :]
            pieces.append(piece)
            if left > 0:
                left -= len(piece)
        return b"".join(pieces)


def as_binary(stream: io.RawIOBase) -> BinaryIO:
    """The stream under the type that `Child` requires; it needs no further buffer."""
    return cast("BinaryIO", stream)
