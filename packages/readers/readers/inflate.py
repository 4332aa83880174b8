"""Decompressors with a common interface that bounds the output of a call."""

from __future__ import annotations

import bz2
import lzma
import struct
import sys
from typing import Any, cast

from isal import isal_zlib

# Deflate64 (zip method 9, 7z 040109): Windows uses it for files over 2 GB. The decoder of `inflate64` with the
# interface of `bz2` and `lzma`.

_FEED = 1 << 14  # bytes fed at once; the decoder returns all of their output, at most a thousand times as much


class Deflate64:
    """Decompressor of one stream. Bytes after its end are dropped: containers know where it ends."""

    unused_data = b""

    def __init__(self) -> None:
        import inflate64  # it imports importlib.metadata, which takes longer than reading a document

        self._codec = inflate64.Inflater()
        self._waiting = b""

    @property
    def eof(self) -> bool:
        return bool(self._codec.eof)

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    def decompress(self, data: bytes, _most: int = -1) -> bytes:
        """Return the next bytes, perhaps none. Raises ValueError on damaged data."""
        self._waiting += data
        out = b""
        while self._waiting and not out and not self._codec.eof:
            data, self._waiting = self._waiting[:_FEED], self._waiting[_FEED:]
            out = self._codec.inflate(data)
        return out


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STORED, DEFLATED, DEFLATED64, BZIP2, LZMA, ZSTD, XZ = 0, 8, 9, 12, 14, 93, 95  # the method numbers of zip
METHODS = frozenset((STORED, DEFLATED, DEFLATED64, BZIP2, LZMA, ZSTD, XZ))
_MEMORY = 1 << 28  # bytes a decompressor may take
_WINDOW_LOG = 27
ISAL_ERROR = cast("type[Exception]", isal_zlib.error)  # isal's stubs declare an instance
DECODE_ERRORS: tuple[type[Exception], ...] = (
    *(ISAL_ERROR, zstd.ZstdError, lzma.LZMAError, OSError, ValueError, EOFError, struct.error),
)


def zstd_decompressor() -> zstd.ZstdDecompressor:
    """Return a decompressor for one frame, with a window of at most 128 MB (the default of `zstd --long`)."""
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})


class Inflater:
    """Decompressor of any method: `feed` takes compressed bytes and returns at most CHUNK (or a few more) a call."""

    def __init__(self, method: int) -> None:
        self._method = method
        self._codec: Any = None
        self._pending = b""  # compressed bytes not taken yet
        if method == DEFLATED:
            self._codec = isal_zlib.decompressobj(-15)
        elif method == BZIP2:
            self._codec = bz2.BZ2Decompressor()
        elif method == DEFLATED64:
            self._codec = Deflate64()
        elif method == ZSTD:
            self._codec = zstd_decompressor()
        elif method == XZ:
            self._codec = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)

    @property
    def ended(self) -> bool:
        """Whether the compressed data has marked its end (stored data never does)."""
        return self._codec is not None and bool(self._codec.eof)

    @property
    def wants_more(self) -> bool:
        """Whether a call without new data would return nothing."""
        if self._method in (STORED, DEFLATED):
            return not self._pending
        return self._codec is None or bool(self._codec.needs_input)

    @property
    def unused(self) -> int:
        """Number of bytes fed after the end of the compressed data."""
        return len(self.rest)

    @property
    def rest(self) -> bytes:
        """Bytes fed after the end of the compressed data."""
        return bytes(self._codec.unused_data) if self._codec is not None else b""

    def feed(self, data: bytes, most: int) -> bytes:
        """Return at most `most` bytes more. Raises one of DECODE_ERRORS on damaged data."""
        if self._method == STORED:
            return data
        if self._method == DEFLATED:
            out: bytes = self._codec.decompress(self._pending + data if self._pending else data, most)
            self._pending = self._codec.unconsumed_tail
            return out
        if self._codec is None:
            self._pending += data
            if not self._start_lzma():
                return b""
            data, self._pending = self._pending, b""
        if self._codec.eof:
            return b""
        piece: bytes = self._codec.decompress(data, most)
        return piece

    def _start_lzma(self) -> bool:
        """Read version and properties at the start of method 14 (APPNOTE 5.8.8); False: bytes are missing."""
        if len(self._pending) < 9:
            return False
        length = struct.unpack_from("<H", self._pending, 2)[0]
        if length != 5:
            raise ValueError(f"LZMA properties of {length} bytes")
        value, dictionary = self._pending[4], struct.unpack_from("<L", self._pending, 5)[0]
        if value >= 225 or dictionary > 1 << 27:
            raise ValueError("LZMA properties out of range")
        spec = {
            "id": lzma.FILTER_LZMA1,
            "lc": value % 9,
            "lp": value // 9 % 5,
            "pb": value // 45,
            "dict_size": max(4096, dictionary),
        }
        self._codec = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[spec])
        self._pending = self._pending[9:]
        return True
