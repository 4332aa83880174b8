"""Reading forwards: what tar needs of a file or of a stream that is being decompressed."""

from __future__ import annotations

from typing import BinaryIO

from core.errors import DocumentError

_CHUNK = 1 << 18


class ByteReader:
    """A stream with a position. Skipping seeks where the stream can, else it reads. A DocumentError of the stream
    counts as its end; `error` keeps it."""

    def __init__(self, stream: BinaryIO, *, seeks: bool) -> None:
        self._stream = stream
        self._seeks = seeks
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
        """Go on to a later position; beyond the end the next read gives nothing."""
        if position <= self.position:
            return
        if self._seeks:
            self._stream.seek(position)
            self.position = position
            return
        while self.position < position and self.read(min(_CHUNK, position - self.position)):
            pass
