"""Small files that cost much: what an attacker would send."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


def announcing_zip(entries: int, announced: int, *, shared: bool, padding: int = 0, name: bytes = b"m%07d") -> bytes:
    """A zip whose directory announces `announced` bytes for each of its entries. `shared`: all of them are the same
    bytes of the archive; else each has a tiny member of its own. `padding`: bytes in front of the directory."""
    out = io.BytesIO()
    data = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = data.compress(b"x") + data.flush()
    offsets = []
    for n in range(entries):
        if not n or not shared:
            offsets.append(out.tell())
            called = name % n
            out.write(
                _LOCAL.pack(b"PK\x03\x04", 20, 0, 8, 0, 0, zlib.crc32(b"x"), len(packed), announced, len(called), 0)
            )
            out.write(called + packed)
        else:
            offsets.append(offsets[0])
    out.write(bytes(padding))
    at = out.tell()
    for n, offset in enumerate(offsets):
        called = name % n
        fields = (zlib.crc32(b"x"), len(packed), announced, len(called), 0, 0, 0, 0, 0, offset)
        out.write(_CENTRAL.pack(b"PK\x01\x02", 20, 20, 0, 8, 0, 0, *fields) + called)
    length = out.tell() - at
    few = min(entries, 0xFFFF)
    out.write(_END.pack(b"PK\x05\x06", 0, 0, few, few, length, at, 0))
    return out.getvalue()


def data_uris(count: int) -> bytes:
    """A web page with so many pictures of one byte."""
    return b"<html><body>" + b'<img src="data:image/png;base64,AA==">' * count + b"</body></html>"


def zipped_again(data: bytes) -> bytes:
    """In gzip, twice: repetition upon repetition."""
    return gzip.compress(gzip.compress(data, 9, mtime=0), 9, mtime=0)


class CountingSource:
    """A source in memory that counts what is read of it."""

    def __init__(self, name: bytes, data: bytes) -> None:
        self.name, self.data, self.size, self.read = name, data, len(data), 0

    @property
    def head(self) -> bytes:
        return self.data[:4096]

    def open(self) -> BinaryIO:
        return _Counting(self)

    def chunks(self) -> Iterator[bytes]:
        yield self.data


class _Counting(io.BytesIO):
    def __init__(self, source: CountingSource) -> None:
        super().__init__(source.data)
        self._source = source

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._source.read += len(data)
        return data
