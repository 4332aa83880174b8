"""What deduplication can make of data: bytes of different chunks, fixed ones and content-defined ones, in bounded memory.

Fixed chunks begin at multiples of their size in each file. Content-defined chunks are FastCDC's (Xia et al., "The design of fast
content-defined chunking for data deduplication based storage systems", IEEE TPDS 31, 2020) by pyfastcdc. Different chunks are told
by 64 bits of BLAKE2b. Of very many those are kept whose hash is a multiple of a power of two (Gibbons, "Distinct sampling",
VLDB 2001): all copies of a chunk are kept or none.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

FIXED = (4096, 8192, 131_072)  # bytes
CDC = 8192  # bytes; a chunk is from a quarter to eight times of it
_CDC_LEAST, _CDC_MOST = CDC // 4, CDC * 8
_MOST_KEPT = 1 << 18  # chunks: 0.3 % off at most, two times in three
_WHOLLY = 64  # chunks that are all compressed; of more one in sixteen is
_LEVEL = 1  # of zlib


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One way to cut."""

    cut: str  # "4K", "8K", "128K", "CDC"
    bytes: int
    chunks: int
    different_bytes: int  # of chunks that are not alike; estimated from `share` of them
    share: float
    compressed_to: float  # what zlib makes of a different chunk by itself ÷ its bytes; 1: nothing

    @property
    def ratio(self) -> float:
        """Bytes that are written for each byte of a different chunk."""
        return self.bytes / self.different_bytes if self.different_bytes else 1.0

    @property
    def with_compression(self) -> float:
        """The same when different chunks are compressed."""
        return self.ratio / self.compressed_to


class Distinct:
    """Counts chunks and those that are different."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most, self._mask = most, 0
        self._kept: dict[int, tuple[int, int]] = {}  # hash → bytes, compressed bytes (0: not compressed)
        self.bytes = self.chunks = 0

    def add(self, chunk: bytes | memoryview) -> None:
        """One more."""
        size = len(chunk)
        self.bytes += size
        self.chunks += 1
        digest = int.from_bytes(hashlib.blake2b(chunk, digest_size=8).digest(), "big")
        if digest & self._mask or digest in self._kept:
            return
        looked_at = len(self._kept) < _WHOLLY or not digest >> 60
        packed = min(size, len(zlib.compress(chunk, _LEVEL))) if looked_at else 0
        self._kept[digest] = (size, packed)
        while len(self._kept) > self._most:
            self._mask = self._mask << 1 | 1
            self._kept = {one: of for one, of in self._kept.items() if not one & self._mask}

    def expected(self, cut: str) -> Expected:
        """What was counted so far."""
        kept = sum(size for size, _ in self._kept.values())
        plain = sum(size for size, packed in self._kept.values() if packed)
        compressed = sum(packed for _, packed in self._kept.values())
        return Expected(
            cut=cut,
            bytes=self.bytes,
            chunks=self.chunks,
            different_bytes=min(self.bytes, kept * (self._mask + 1)),
            share=1 / (self._mask + 1),
            compressed_to=compressed / plain if plain else 1.0,
        )


class _Fixed:
    """Cuts a file's pieces, whatever their lengths, at multiples of a size."""

    def __init__(self, size: int) -> None:
        self.size, self.found, self._left = size, Distinct(), b""

    def take(self, piece: bytes) -> None:
        data = self._left + piece if self._left else piece
        whole = len(data) - len(data) % self.size
        view = memoryview(data)
        for start in range(0, whole, self.size):
            self.found.add(view[start : start + self.size])
        self._left = data[whole:]

    def end(self) -> None:
        """Of the file: what is left is a chunk, too."""
        if self._left:
            self.found.add(self._left)
        self._left = b""


class _Stream:
    """A file's pieces to be read by the library, shown to the fixed cutters on the way."""

    def __init__(self, pieces: Iterator[bytes], seen: Callable[[bytes], None]) -> None:
        self._pieces, self._seen, self._left = pieces, seen, memoryview(b"")

    def readinto(self, buffer: memoryview) -> int:
        """0 at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._seen(piece)
            self._left = memoryview(piece)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def expected_of(files: Iterable[Callable[[], Iterator[bytes]]], between: Callable[[], None]) -> tuple[Expected, ...]:
    """Of these files together, in one reading; `between` is called after each."""
    from pyfastcdc import FastCDC  # compiled; for those who cut

    fixed = [_Fixed(size) for size in FIXED]
    defined = Distinct()
    cutter = FastCDC(CDC, min_size=_CDC_LEAST, max_size=_CDC_MOST)

    def seen(piece: bytes) -> None:
        for one in fixed:
            one.take(piece)

    for pieces in files:
        for chunk in cutter.cut_stream(_Stream(pieces(), seen)):
            defined.add(chunk.data)
        for one in fixed:
            one.end()
        between()
    return (*(one.found.expected(f"{one.size >> 10}K") for one in fixed), defined.expected("CDC"))
