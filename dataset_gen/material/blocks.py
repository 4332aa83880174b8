"""Compressibility and duplicate blocks of a corpus, from blocks that are chosen by what they hold.

One block in sixteen is taken, by its CRC-32: of a block that lies in many places all copies are taken or none, so
the share of duplicates among those taken is that of all.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from dataset_gen.packing.compress import crc32, deflated

SIZE = 4096  # bytes of a block
_ONE_IN = 16
_COMPRESSED_ONE_IN = 16  # of those taken
_ZEROS = bytes(SIZE)
_ZEROS_CHECK = crc32(_ZEROS)
_AT_ONCE = 256 * SIZE


@dataclass(slots=True)
class Blocks:
    """What the blocks of some files came to."""

    blocks: int = 0
    zero: int = 0
    plain: int = 0  # bytes that were compressed
    packed: int = 0  # bytes that came out
    digests: list[int] = field(default_factory=list)

    def read(self, path: bytes) -> None:
        """Count the whole blocks of a file."""
        with open(path, "rb", buffering=0) as file:
            while data := file.read(_AT_ONCE):
                self.take(data)

    def take(self, data: bytes) -> None:
        """Count the whole blocks of what begins at a block."""
        check = crc32
        self.blocks += len(data) // SIZE
        for start in range(0, len(data) - SIZE + 1, SIZE):
            block = data[start : start + SIZE]
            checksum = check(block)
            if not checksum % _ONE_IN or checksum == _ZEROS_CHECK:
                self._sample(block, checksum)

    def _sample(self, block: bytes, check: int) -> None:
        if check == _ZEROS_CHECK and block == _ZEROS:
            self.zero += 1
            return
        if check % _ONE_IN:
            return
        self.digests.append(int.from_bytes(hashlib.blake2b(block, digest_size=6).digest(), "big"))
        if check // _ONE_IN % _COMPRESSED_ONE_IN == 0:
            self.plain += SIZE
            self.packed += min(SIZE, len(deflated(block)))

    def add(self, other: Blocks) -> None:
        """Add another part's."""
        self.blocks += other.blocks
        self.zero += other.zero
        self.plain += other.plain
        self.packed += other.packed
        self.digests += other.digests

    def to_json(self) -> dict[str, Any]:
        """Shares, as `dataset.json` has them."""
        taken = len(self.digests)
        return {
            "bytes": SIZE,
            "whole_blocks": self.blocks,
            "zero_share": round(self.zero / self.blocks, 4) if self.blocks else 0.0,
            "taken": taken,
            "duplicate_share": round(1 - len(set(self.digests)) / taken, 4) if taken else 0.0,
            "compressed_to": round(self.packed / self.plain, 4) if self.plain else 1.0,
        }
