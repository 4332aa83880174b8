"""Streams that containers hand out: a range of a file, and bytes followed by more bytes or by an error."""

from __future__ import annotations

import errno
import io
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

from readers.errors import DocumentError

SMALL_MEMBER = 8_000_000  # members up to this size are handed out as bytes, larger ones as streams
CHUNK = 1 << 18
_PIECE, _KEPT_PIECES, _AHEAD = 1 << 17, 64, 1 << 13  # bytes of a piece, pieces kept of a file, bytes copied at a time


class ByteStream(io.RawIOBase):
    """A stream that is read by `read` alone."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


class RangeStream(ByteStream):
    """A stream of `prefix`, then `length` bytes of a file from `start`. Each read seeks first, so the file may be used
    in between. It closes the file only if it `owns` it."""

    def __init__(self, file: BinaryIO, start: int, length: int, prefix: bytes = b"", *, owns: bool = False) -> None:
        super().__init__()
        self._file, self._start, self._prefix, self._owns = file, start, prefix, owns
        self.size = len(prefix) + max(0, length)
        self._at = 0

    @classmethod
    def buffered(cls, file: BinaryIO, start: int, length: int, *, owns: bool = False) -> BinaryIO:
        """Return the range as a buffered reader."""
        return io.BufferedReader(cls(file, start, length, owns=owns), CHUNK)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = max(0, offset + (0, self._at, self.size)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        left = max(0, self.size - self._at)
        count = left if size < 0 else min(size, left)
        if self._at < len(self._prefix):
            data = self._prefix[self._at : self._at + count]
        else:
            self._file.seek(self._start + self._at - len(self._prefix))
            data = self._file.read(count)
        self._at += len(data)
        return data

    def close(self) -> None:
        if self._owns:
            self._file.close()
        super().close()


class PieceStream(ByteStream):
    """A stream of the pieces that `produce` returns until it returns b"". A DocumentError of `produce` is raised by the
    read that has no other bytes to return, so every byte before it arrives."""

    def __init__(self, produce: Callable[[], bytes], first: bytes = b"", error: DocumentError | None = None) -> None:
        super().__init__()
        self._produce = produce
        self._ready = memoryview(first)
        self._error = error

    @classmethod
    def of(cls, pieces: Iterator[bytes]) -> PieceStream:
        """Return the stream of these pieces, none of which is empty."""
        return cls(lambda: next(pieces, b""))

    def read(self, size: int | None = -1) -> bytes:
        """Return `size` bytes, fewer only at the end or before an error, which is raised by the next read. Return all
        bytes if `size` is negative: then an error is raised at once."""
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


class _KeptPieces(RangeStream):
    """A file read in whole pieces, of which the last ones used are kept."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, 0, file.seek(0, io.SEEK_END), owns=True)
        self._kept: OrderedDict[int, bytes] = OrderedDict()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        at = (0, self._at, self.size)[whence] + offset
        if at < 0:
            raise OSError(errno.EINVAL, "the position is before the file's first byte")
        self._at = at
        return at

    def read(self, size: int = -1, /) -> bytes:
        """Read at most to the end of a piece."""
        number, start = divmod(self._at, _PIECE)
        data = self._piece(number)[start : None if size < 0 else start + size]
        self._at += len(data)
        return data

    def _piece(self, number: int) -> bytes:
        data = self._kept.get(number)
        if data is None:
            self._file.seek(number * _PIECE)
            pieces, left = [], min(_PIECE, self.size - number * _PIECE)
            while left > 0 and (piece := self._file.read(left)):
                pieces.append(piece)
                left -= len(piece)
            data = self._kept[number] = b"".join(pieces)
            if len(self._kept) > _KEPT_PIECES:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(number)
        return data


def scattered(file: BinaryIO) -> BinaryIO:
    """Return a reader for a file that is read at scattered positions. On a filer each call costs more than its bytes,
    and related data is usually close together: it is read in large pieces, and the last ones used are kept. A file in
    memory is returned unchanged."""
    if not isinstance(file, io.BufferedReader):
        return file
    return io.BufferedReader(_KeptPieces(as_binary(file.detach())), _AHEAD)


def as_binary(stream: io.RawIOBase) -> BinaryIO:
    """Return the stream under the type that `Child` requires; it needs no further buffer."""
    return cast("BinaryIO", stream)
