"""Reading forwards: what tar needs of a file or of a stream that is being decompressed."""

from __future__ import annotations

from typing import BinaryIO

from readers.errors import DocumentError, ExceptionCode

_CHUNK = 1 << 18
_PADDING = 512


class ByteReader:
    """A stream with a position. Skipping seeks where the stream can, else it reads. A DocumentError of the stream
    counts as its end; `error` keeps it.

    `skippable` is how many bytes may be read only to get past them, in all: skipping what is being decompressed costs
    what decompressing costs, and nothing else counts it. Padding between entries is not counted."""

    def __init__(self, stream: BinaryIO, *, seeks: bool, skippable: int | None = None) -> None:
        self._stream = stream
        self._seeks = seeks
        self._skippable = skippable
        self._pushed = b""  # read and given back
        self.position = 0
        self.error: DocumentError | None = None

    def read(self, count: int) -> bytes:
        """`count` bytes; fewer only at the end."""
        pieces: list[bytes] = []
        left = count
        if self._pushed:
            pieces.append(self._pushed[:count])
            self._pushed = self._pushed[count:]
            left -= len(pieces[0])
        while left > 0 and self.error is None:
            try:
                piece = self._stream.read(min(left, 1 << 20))
            except DocumentError as error:
                self.error = error
                break
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        self.position += count - left
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def give_back(self, data: bytes) -> None:
        """The last bytes that were read, to be read again next."""
        self._pushed = data + self._pushed
        self.position -= len(data)

    def skip_to(self, position: int) -> None:
        """Continue at a later position; beyond the end the next read gives nothing. `expansion_limit` where that means
        more than may be skipped."""
        if self._pushed and position > self.position:
            self.read(min(len(self._pushed), position - self.position))
        if position <= self.position:
            return
        if self._seeks:
            self._stream.seek(position)
            self.position = position
            return
        counted = position - self.position > _PADDING
        while self.position < position and (skipped := len(self.read(min(_CHUNK, position - self.position)))):
            if counted:
                self.pass_over(skipped)

    def pass_over(self, count: int) -> None:
        """Count bytes that were read only to get past them. `expansion_limit` where they are too many."""
        if self._skippable is None:
            return
        self._skippable -= count
        if self._skippable < 0:
            raise DocumentError(
                ExceptionCode.EXPANSION_LIMIT, "the rest comes after more data than the archive may expand to"
            )
