"""Reading forwards: what tar needs of a file or of a stream that is being decompressed."""

from __future__ import annotations

from typing import BinaryIO

from core.errors import DocumentError, ExceptionCode

_CHUNK = 1 << 18
_PADDING = 512


class ByteReader:
    """A stream with a position. Skipping seeks where the stream can, else it reads. A DocumentError of the stream
    counts as its end; `error` keeps it.

    `skippable` is how many bytes may be read only to get past them, in all: skipping what is being decompressed costs
    what decompressing costs, and nobody else counts it. Padding between entries is not counted."""

    def __init__(self, stream: BinaryIO, *, seeks: bool, skippable: int | None = None) -> None:
        self._stream = stream
        self._seeks = seeks
        self._skippable = skippable
        self.position = 0
        self.error: DocumentError | None = None

    def read(self, count: int) -> bytes:
        """`count` bytes; fewer only at the end."""
        pieces: list[bytes] = []
        left = count
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

    def skip_to(self, position: int) -> None:
        """Go on to a later position; beyond the end the next read gives nothing. `expansion_limit` where that means
        more than may be skipped."""
        if position <= self.position:
            return
        if self._seeks:
            self._stream.seek(position)
            self.position = position
            return
        counted = position - self.position > _PADDING
        while self.position < position and (skipped := len(self.read(min(_CHUNK, position - self.position)))):
            if self._skippable is None or not counted:
                continue
            self._skippable -= skipped
            if self._skippable < 0:
                raise DocumentError(
                    ExceptionCode.EXPANSION_LIMIT, "the rest lies behind more than the archive may expand to"
                )
