"""Streams that containers hand out: a range of a file, and bytes followed by more bytes or by an error."""

from __future__ import annotations

import errno
import io
from collections import OrderedDict
from collections.abc import Callable
from typing import BinaryIO, cast

from readers.errors import DocumentError

SMALL_MEMBER = 8_000_000  # members up to this size are handed out as bytes, larger ones as streams
CHUNK = 1 << 18
_PIECE, _KEPT_PIECES, _AHEAD = 1 << 17, 64, 1 << 13  # bytes of a piece, pieces kept of a file, bytes copied at a time


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


class _KeptPieces(io.RawIOBase):
    """A file by whole pieces, of which the last ones used are kept."""

    def __init__(self, file: BinaryIO | io.RawIOBase) -> None:
        super().__init__()
        self._file, self._at = file, 0
        self._end = file.seek(0, io.SEEK_END)
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        at = (0, self._at, self._end)[whence] + offset
        if at < 0:
            raise OSError(errno.EINVAL, "the position is before the file's first byte")
        self._at = at
        return at

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        number, start = divmod(self._at, _PIECE)
        data = self._piece(number)[start : start + len(view)]
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _piece(self, number: int) -> bytes:
        data = self._kept.get(number)
        if data is None:
            self._file.seek(number * _PIECE)
            pieces, left = [], min(_PIECE, self._end - number * _PIECE)
            while left > 0 and (piece := self._file.read(left)):
                pieces.append(piece)
                left -= len(piece)
            data = self._kept[number] = b"".join(pieces)
            if len(self._kept) > _KEPT_PIECES:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(number)
        return data

    def close(self) -> None:
        self._file.close()
        super().close()


def scattered(file: BinaryIO) -> BinaryIO:
    """A file that is read here and there, and not from front to back. On a filer each call costs more than its bytes, and what belongs
    together lies near each other: it is read in large pieces, and those used last are kept. A file in memory stays as it is."""
    if not isinstance(file, io.BufferedReader):
        return file
    return io.BufferedReader(_KeptPieces(file.detach()), _AHEAD)


def as_binary(stream: io.RawIOBase) -> BinaryIO:
    """The stream under the type that `Child` requires; it needs no further buffer."""
    return cast("BinaryIO", stream)
