"""The data of texts during a comparison: their shingles in a file, and some numbers for each in memory."""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from core.errors import StorageFault
from review.near.bands import Bands, Keys
from review.near.shingles import Shingles

_AT_ONCE = 2_000_000  # shingles whose signatures are computed in one call
Numbers = npt.NDArray[np.int64]


class Collected:
    """Texts by the order in which they were added. About 60 bytes of memory and 8 a band for each, and 8 a shingle in
    the file."""

    def __init__(self, file: IO[bytes], bands: Bands) -> None:
        self._file, self._bands = file, bands
        self._ends, self._ranks, self._scopes = array("q", [0]), array("q"), array("q")
        self._digests = bytearray()
        self._keys: list[Keys] = []
        self._waiting: list[Shingles] = []
        self._waiting_size = 0
        self._read: Shingles | None = None

    def add(self, rank: int, scope: int, found: Shingles) -> None:
        """Add a text with a set that is not empty. Raises StorageFault if scratch is full."""
        with _on_scratch():
            self._file.write(found.tobytes())
        self._ends.append(self._ends[-1] + len(found))
        self._ranks.append(rank)
        self._scopes.append(scope)
        self._digests += hashlib.blake2b(found.tobytes(), digest_size=16).digest()
        self._waiting.append(found)
        self._waiting_size += len(found)
        if self._waiting_size > _AT_ONCE:
            self._sign()

    def _sign(self) -> None:
        if self._waiting:
            self._keys.append(self._bands.keys(self._waiting))
        self._waiting, self._waiting_size = [], 0

    def __len__(self) -> int:
        return len(self._ranks)

    @property
    def ranks(self) -> Numbers:
        """Each text's position in the order that chooses principals."""
        return np.array(self._ranks, dtype=np.int64)

    @property
    def scopes(self) -> Numbers:
        """Each text's number of its scope."""
        return np.array(self._scopes, dtype=np.int64)

    @property
    def digests(self) -> Keys:
        """Each text's hash of its set, in two halves."""
        return np.frombuffer(bytes(self._digests), dtype=np.uint64).reshape(-1, 2)

    def take_keys(self) -> Keys:
        """Return the bands' keys of all texts, and drop them."""
        self._sign()
        keys = np.concatenate([np.zeros((0, self._bands.count), np.uint64), *self._keys])
        self._keys = []
        return keys

    def shingles(self, text: int) -> Shingles:
        """Return the set of one text, read from the file."""
        if self._read is None:
            with _on_scratch():
                self._file.flush()
            self._read = np.memmap(self._file, dtype=np.uint64, mode="r")
        return self._read[self._ends[text] : self._ends[text + 1]]


@contextmanager
def collecting(scratch: Path, bands: Bands) -> Iterator[Collected]:
    """Yield an empty collection; its file has no name and disappears when this process ends."""
    with ExitStack() as stack:
        with _on_scratch():
            scratch.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(tempfile.TemporaryFile(dir=scratch))
        yield Collected(file, bands)


@contextmanager
def _on_scratch() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise StorageFault(
            f"cannot write to scratch: {e}; near-duplicates need 8 bytes there for each word of the texts"
        ) from e
