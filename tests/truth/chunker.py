"""An independent chunker, which profile dedup's expectations are held against: nothing of the product, no library of
chunks.

Fixed chunks by slices of whole files; content-defined ones by a rolling hash of its own (32 bytes, a random table, all
positions at once by doubling its window), with the same least, middle and largest sizes. Files lie in memory one at a
time."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FIXED = {"4K": 4096, "8K": 8192, "128K": 131_072}
LEAST, MIDDLE, MOST = 2048, 8192, 65_536
_BITS = 13  # of a hash, for one boundary in 8,192 bytes


def ratios(directory: Path) -> dict[str, float]:
    """Bytes of all files ÷ bytes of different chunks, by the way they are cut."""
    seen: dict[str, dict[bytes, int]] = {name: {} for name in (*FIXED, "CDC")}
    total = 0
    for place, _, names in os.walk(directory):
        for name in names:
            data = (Path(place) / name).read_bytes()
            total += len(data)
            for cut, size in FIXED.items():
                _add(seen[cut], data, range(0, len(data), size), size)
            ends = list(boundaries(data))
            for start, end in zip([0, *ends[:-1]], ends, strict=True):
                _add(seen["CDC"], data, (start,), end - start)
    return {cut: total / sum(kept.values()) for cut, kept in seen.items()}


def _add(kept: dict[bytes, int], data: bytes, starts: range | tuple[int, ...], size: int) -> None:
    for start in starts:
        chunk = data[start : start + size]
        kept[hashlib.sha256(chunk).digest()] = len(chunk)


def boundaries(data: bytes) -> Iterator[int]:
    """The end of each chunk."""
    hashes = _rolled(np.frombuffer(data, np.uint8))
    rare = np.flatnonzero(hashes >> np.uint32(32 - _BITS - 1) == 0) + 1
    often = np.flatnonzero(hashes >> np.uint32(32 - _BITS + 1) == 0) + 1
    start = 0
    while start < len(data):
        end = min(len(data), start + MOST)
        for candidates, low, high in ((rare, LEAST, MIDDLE), (often, MIDDLE, MOST)):
            place = int(np.searchsorted(candidates, start + low))
            if place < len(candidates) and candidates[place] < min(start + high, len(data)):
                end = int(candidates[place])
                break
        yield end
        start = end


def _rolled(data: np.ndarray) -> np.ndarray:
    """Of each position, over itself and the 31 bytes before it; the highest bits depend on all of them."""
    hashes = np.random.default_rng(19).integers(0, 1 << 32, 256, np.uint32)[data]
    for width in (1, 2, 4, 8, 16):
        shifted = hashes[:-width] << np.uint32(width)
        hashes[width:] += shifted
    return hashes
