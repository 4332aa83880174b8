"""Decompressors with a common interface that bounds the output of a call."""

from __future__ import annotations

import bz2
import lzma
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from isal import igzip_lib

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
ISAL_ERROR = cast("type[Exception]", igzip_lib.error)  # isal's stubs declare an instance
DECODE_ERRORS: tuple[type[Exception], ...] = (
    *(ISAL_ERROR, zstd.ZstdError, lzma.LZMAError, OSError, ValueError, EOFError, struct.error),
)


def zstd_decompressor() -> zstd.ZstdDecompressor:
    """Return a decompressor for one frame, with a window of at most 128 MB (the default of `zstd --long`)."""
    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})


raw_inflate = partial(igzip_lib.IgzipDecompressor, flag=igzip_lib.DECOMP_DEFLATE)

_DECOMPRESSORS: dict[int, Callable[[], Any]] = {
    DEFLATED: raw_inflate,
    DEFLATED64: Deflate64,
    BZIP2: bz2.BZ2Decompressor,
    ZSTD: zstd_decompressor,
    XZ: partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_MEMORY),
}


class Inflater:
    """Decompressor of any method: `feed` takes compressed bytes and returns at most CHUNK (or a few more) a call."""

    def __init__(self, method: int) -> None:
        self._method = method
        self._codec: Any = _DECOMPRESSORS[method]() if method in _DECOMPRESSORS else None
        self._pending = b""  # bytes before the data of method 14

    @property
    def ended(self) -> bool:
        """Whether the compressed data has marked its end (stored data never does)."""
        return self._codec is not None and bool(self._codec.eof)

    @property
    def wants_more(self) -> bool:
        """Whether a call without new data would return nothing."""
        return self._codec is None or bool(self._codec.needs_input)

    @property
    def unused(self) -> int:
        """Number of bytes fed after the end of the compressed data."""
        return len(self._codec.unused_data) if self._codec is not None else 0

    def feed(self, data: bytes, most: int) -> bytes:
        """Return at most `most` bytes more. Raises one of DECODE_ERRORS on damaged data."""
        if self._method == STORED:
            return data
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
