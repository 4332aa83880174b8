"""The decompressors behind their one interface; the first byte says which."""

import bz2
import contextlib
import lzma
import zlib

from reading import LIMITS, files

from readers.inflate import BZIP2, DECODE_ERRORS, DEFLATED, DEFLATED64, LZMA, XZ, ZSTD, Inflater
from traces.blocks import zstd

_METHODS = (DEFLATED, BZIP2, DEFLATED64, ZSTD, XZ, LZMA)
_AT_ONCE = 4_096
_TEXT = b"".join(data[:3_000] for data in files(".txt", ".html")[:5])
_RAW = {"id": lzma.FILTER_LZMA1, "lc": 3, "lp": 0, "pb": 2, "dict_size": 1 << 16}
_PACKED = (
    zlib.compress(_TEXT, 9)[2:-4],
    bz2.compress(_TEXT),
    zlib.compress(_TEXT, 9)[2:-4],
    zstd.compress(_TEXT),
    lzma.compress(_TEXT),
    b"\x09\x14\x05\0\x5d\0\0\x01\0" + lzma.compress(_TEXT, lzma.FORMAT_RAW, filters=[_RAW]),
)
SEEDS = [bytes([number]) + packed for number, packed in enumerate(_PACKED)]


def read(data: bytes) -> None:
    if not data:
        return
    inflater, out, at = Inflater(_METHODS[data[0] % len(_METHODS)]), 0, 1
    with contextlib.suppress(*DECODE_ERRORS):
        while out < LIMITS.parse_bytes and not inflater.ended and (at < len(data) or not inflater.wants_more):
            piece = inflater.feed(data[at : at + _AT_ONCE], _AT_ONCE)
            at += _AT_ONCE
            out += len(piece)
