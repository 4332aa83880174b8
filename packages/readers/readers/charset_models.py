"""Models of the charset detector, inflated in less time than chardet takes: some 350 tables of 64 KB, most of the cost
of loading the detector.

It uses another inflater and fewer copies; the tables are the same. If chardet stores them in another form than version
7 does, chardet loads them itself."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from isal import isal_zlib

# As in readers.inflate, which imports decompressors that are not needed here.
_ERROR = cast("type[Exception]", isal_zlib.error)
_LOADER = "_load_models_data"  # chardet's function that loads the models on first use
_MAGIC = b"CMD2"
_COUNT, _LENGTH = struct.Struct(">I"), struct.Struct(">d")
_TABLE = 65_536
_STEP = (
    1 << 11
)  # packed bytes at a time, which give some 80,000: they are still in the CPU's cache when they are copied
Models = tuple[dict[str, bytes], dict[str, float]]  # by language and charset: the tables, and their lengths as vectors


@functools.cache
def install() -> None:
    """Import chardet and replace its loader of models by this one."""
    from chardet import models

    theirs = getattr(models, _LOADER, None)
    if theirs is None:
        return

    @functools.cache
    def load() -> Models:
        found = models_of(Path(models.__file__).with_name("models.bin").read_bytes())
        own: Models = theirs() if found is None else found
        return own

    setattr(models, _LOADER, load)


def models_of(data: bytes) -> Models | None:
    """Return the models in such a file; None if it is no such file, or damaged."""
    if not data.startswith(_MAGIC):
        return None
    try:
        lengths, at = _lengths(data)
        tables = list(_tables(data[at:]))
    except (struct.error, UnicodeDecodeError, _ERROR):
        return None
    return (dict(zip(lengths, tables, strict=True)), lengths) if len(tables) == len(lengths) else None


def _lengths(data: bytes) -> tuple[dict[str, float], int]:
    """Return the lengths at the start of the data by names of tables, in order, and their end."""
    at = len(_MAGIC) + _COUNT.size
    lengths: dict[str, float] = {}
    for _ in range(_COUNT.unpack_from(data, len(_MAGIC))[0]):
        end = at + _COUNT.size + _COUNT.unpack_from(data, at)[0]
        name = data[at + _COUNT.size : end].decode()
        (lengths[name],) = _LENGTH.unpack_from(data, end)
        at = end + _LENGTH.size
    return lengths, at


def _tables(packed: bytes) -> Iterator[bytes]:
    """Yield the tables, each an object of its own: chardet copies a slice of a larger object at each access."""
    inflater, rest = isal_zlib.decompressobj(), b""
    for at in range(0, len(packed), _STEP):
        some = rest + inflater.decompress(packed[at : at + _STEP])
        whole = len(some) - len(some) % _TABLE
        for start in range(0, whole, _TABLE):
            yield some[start : start + _TABLE]
        rest = some[whole:]
