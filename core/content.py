"""Contents of a replay's files: bytes of the recorded compressibility, no two blocks alike, the same each time.

A pool for each class of compressibility is made of blocks of 4 KiB: random bytes first, filler after. A piece of a file
is a stretch of its pool's blocks, with a number of its own stamped on each block in place, so that neither compression
over many blocks nor a filer that keeps equal blocks once finds more to save than there was in the recorded files. Only
class 0, all zeros, is left as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

BLOCK: Final = 4096
CONTENT_CLASSES: Final = 16  # of compressibility; 0: zeros
_POOL_BLOCKS: Final = 512  # 2 MiB; more where a call writes more
_MOST_BLOCKS: Final = 16_384  # 64 MiB; a larger write repeats it
_WORDS: Final = BLOCK // 8
_FILLER: Final = b"the quick brown fox jumps over the lazy dog and then it rests. \n"
_MASK: Final = (1 << 64) - 1
_MIX: Final = 0x9E37_79B9_7F4A_7C15  # 2^64 / golden ratio: spreads numbers that follow one another


class Content:
    """The pools of one process. `most_written`: bytes of the largest piece that is often requested."""

    def __init__(self, seed: int, clone: int, most_written: int = 0) -> None:
        self._salt = (seed * 0x1_0001 + clone) & _MASK
        wanted = max(_POOL_BLOCKS, 2 * (-(-most_written // BLOCK) + 1))
        self._blocks = min(wanted, _MOST_BLOCKS)
        self.most = (self._blocks // 2) * BLOCK  # bytes of a piece at most
        self._random: npt.NDArray[np.uint8] | None = None
        self._pools: dict[int, tuple[memoryview, npt.NDArray[np.uint64] | None]] = {}
        self._steps = np.arange(self._blocks, dtype=np.uint64)

    def piece(self, kind: int, node: int, offset: int, size: int) -> memoryview:
        """`size` bytes (at most `most`) of the node's file from `offset`, valid until the next piece is requested."""
        pool = self._pools.get(kind)
        if pool is None:
            pool = self._pools[kind] = self._made(kind)
        view, stamps = pool
        if stamps is None:
            return view[:size]
        block = offset // BLOCK
        own = ((self._salt + node) * _MIX) & _MASK
        count = -(-size // BLOCK)
        first = ((own >> 32) + block) % (self._blocks - count + 1)
        stamps[first : first + count] = self._steps[:count] + np.uint64((own + block) & (_MASK >> 1))
        start = first * BLOCK
        return view[start : start + size]

    def make(self, kinds: Iterable[int]) -> None:
        """Make the pools of these classes now, so that the first piece takes no longer than the others."""
        for kind in kinds:
            self.piece(kind, 0, 0, 1)

    def _made(self, kind: int) -> tuple[memoryview, npt.NDArray[np.uint64] | None]:
        size = self._blocks * BLOCK
        if kind == 0:
            return memoryview(bytes(size)), None
        pool = np.frombuffer(_FILLER * (size // len(_FILLER)), np.uint8).copy().reshape(-1, BLOCK)
        if self._random is None:
            self._random = np.random.default_rng(self._salt).integers(0, 256, (self._blocks, BLOCK), np.uint8)
        share = BLOCK * kind // CONTENT_CLASSES
        pool[:, :share] = self._random[:, :share]
        stamps = pool.reshape(-1).view(np.uint64)[::_WORDS]
        return pool.reshape(-1).data, stamps
