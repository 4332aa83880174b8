"""Keeps Whoosh from running what a file on the filer tells it to.

Whoosh stores postings, stored fields and directories of its files as pickles, and loading a pickle may call anything.
Index files lie on shared storage, so its modules get loaders that build plain values (numbers, texts, bytes, tuples,
lists, dicts) and nothing else. Its pickled table of contents (schema and segments as objects) is not published at all.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from typing import IO, Any

from whoosh import columns, formats
from whoosh.codec import whoosh3
from whoosh.filedb import structfile


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """How pickles of protocol 2 spell bytes."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in {encoding!r}")
    return text.encode("latin1")


_HARMLESS: dict[tuple[str, str], Any] = {
    ("_codecs", "encode"): _latin1,
    ("__builtin__", "bytes"): bytes,
    ("builtins", "bytes"): bytes,
    ("__builtin__", "int"): int,
    ("builtins", "int"): int,
    ("collections", "defaultdict"): defaultdict,
    # In the writer's own table of contents on scratch; classes that only hold what they are given.
    ("whoosh.codec.whoosh3", "W3Segment"): whoosh3.W3Segment,
    ("whoosh.codec.whoosh3", "W3Codec"): whoosh3.W3Codec,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _HARMLESS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"an index file refers to {module}.{name}, which is not allowed") from None


def plain_load(file: IO[bytes]) -> Any:
    """`pickle.load` of plain values; raises UnpicklingError for anything else."""
    return _PlainUnpickler(file).load()


def plain_loads(data: bytes) -> Any:
    """`pickle.loads` of plain values; raises UnpicklingError for anything else."""
    return _PlainUnpickler(io.BytesIO(data)).load()


def disarm() -> None:
    """Have Whoosh load plain values only, in this process, from now on."""
    for module in (whoosh3, columns, formats):
        module.loads = plain_loads
    structfile.load_pickle = plain_load
