"""The models of the charset detector, inflated in less time than chardet takes for it: some 350 tables of 64 KB, and most of what it
costs to load the detector.

By another inflater and with fewer copies; the tables are the same. Where they are kept in another form than chardet 7 keeps them in,
it loads them itself.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from isal import isal_zlib

# As in readers.inflate, which brings more decompressors than are wanted here.
_ERROR = cast("type[Exception]", isal_zlib.error)
_LOADER = "_load_models_data"  # what chardet calls when it wants any of them first
_MAGIC = b"CMD2"
_COUNT, _LENGTH = struct.Struct(">I"), struct.Struct(">d")
_TABLE = 65_536
_STEP = 1 << 11  # packed bytes at a time, which give some 80,000: they are still near when they are copied
Models = tuple[dict[str, bytes], dict[str, float]]  # by language and charset: the tables, and their lengths as vectors


@functools.cache
def install() -> None:
    """Have chardet, which is imported for this, take them from here."""
    from chardet import models

    theirs = getattr(models, _LOADER, None)
    if theirs is None:
        return

    @functools.cache
    def load() -> Models:
        told = told_of(Path(models.__file__).with_name("models.bin").read_bytes())
        own: Models = theirs() if told is None else told
        return own

    setattr(models, _LOADER, load)


def told_of(data: bytes) -> Models | None:
    """The models in such a file; None where it is none, or damaged."""
    if not data.startswith(_MAGIC):
        return None
    try:
        lengths, at = _lengths(data)
        tables = list(_tables(data[at:]))
    except (struct.error, UnicodeDecodeError, _ERROR):
        return None
    return (dict(zip(lengths, tables, strict=True)), lengths) if len(tables) == len(lengths) else None


def _lengths(data: bytes) -> tuple[dict[str, float], int]:
    """The lengths at the start of the data, by the names of their tables, in order; and the offset where they end."""
    at = len(_MAGIC) + _COUNT.size
    lengths: dict[str, float] = {}
    for _ in range(_COUNT.unpack_from(data, len(_MAGIC))[0]):
        end = at + _COUNT.size + _COUNT.unpack_from(data, at)[0]
        name = data[at + _COUNT.size : end].decode()
        (lengths[name],) = _LENGTH.unpack_from(data, end)
        at = end + _LENGTH.size
    return lengths, at


def _tables(packed: bytes) -> Iterator[bytes]:
    """The tables, each an object of its own: chardet copies a slice of a larger object at each access."""
    inflater, rest = isal_zlib.decompressobj(), b""
    for at in range(0, len(packed), _STEP):
        some = rest + inflater.decompress(packed[at : at + _STEP])
        whole = len(some) - len(some) % _TABLE
        for start in range(0, whole, _TABLE):
            yield some[start : start + _TABLE]
        rest = some[whole:]
