"""Latency histograms with fixed log-linear buckets: 16 to the octave, 1 µs (2¹⁰ ns) to 2.4 hours (2⁴³ ns).

Fixed buckets merge by addition, over seconds, slots and hosts, so that a percentile is always taken from all calls and
never averaged. A bucket is 1/16 of its lower bound wide; a percentile is given as the middle of its bucket, so it is
off by at most 3.2 %. (The scheme is that of HdrHistogram, http://hdrhistogram.org, with one significant hexadecimal
digit.) The exact largest value is kept with the histogram.

Calls of different sizes (core.operations) are counted apart in the same histogram: it has the buckets once for each
class of size, and a bucket of a class is a *cell*. Histograms from before there were classes have all calls in the
first class, which is that of calls of unknown size; so they merge with later ones and report no wrong size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from core.operations import NOTHING, SIZES, size_class

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SUB_BITS = 4
FIRST_BITS = 10  # everything under 2**10 ns is bucket 0
LAST_BITS = 43  # everything from 2**43 ns is the last bucket
OVERFLOW = 1 + ((LAST_BITS - FIRST_BITS) << SUB_BITS)
BUCKETS = OVERFLOW + 1
CELLS = len(SIZES) * BUCKETS  # a cell: class of size × BUCKETS + bucket
LIMIT_NS = 1 << LAST_BITS  # a percentile of this means that it is at least this

# A value's bits below its leading one and the SUB_BITS after it; `monitoring.live` repeats this inline.
_SHIFT = FIRST_BITS + 1


def bucket_of(ns: int) -> int:
    """The bucket that a duration in nanoseconds falls into."""
    if ns < 1 << FIRST_BITS:
        return 0
    octave = ns.bit_length() - _SHIFT
    if octave >= LAST_BITS - FIRST_BITS:
        return OVERFLOW
    return 1 + (octave << SUB_BITS) + ((ns >> (octave + FIRST_BITS - SUB_BITS)) & ((1 << SUB_BITS) - 1))


def buckets_of(ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return `bucket_of` of each duration."""
    import numpy as np  # commands import this module

    clipped = np.clip(ns, 1, 1 << LAST_BITS)
    octave = np.frexp(clipped.astype(np.float64))[1].astype(np.int64) - (FIRST_BITS + 1)
    part = (clipped >> np.maximum(octave + FIRST_BITS - SUB_BITS, 0)) & ((1 << SUB_BITS) - 1)
    buckets = 1 + (octave << SUB_BITS) + part
    buckets[ns < 1 << FIRST_BITS] = 0
    buckets[ns >= 1 << LAST_BITS] = OVERFLOW
    return buckets


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """Nanoseconds [low, high) of a bucket; the last one has no upper bound and is given as empty."""
    if bucket == 0:
        return 0, 1 << FIRST_BITS
    if bucket == OVERFLOW:
        return 1 << LAST_BITS, 1 << LAST_BITS
    octave, part = divmod(bucket - 1, 1 << SUB_BITS)
    width = 1 << (octave + FIRST_BITS - SUB_BITS)
    low = ((1 << SUB_BITS) + part) * width
    return low, low + width


class Histogram:
    """Number of calls in each cell."""

    __slots__ = ("_encoded", "cells")

    def __init__(self, cells: Mapping[int, int] | None = None) -> None:
        self.cells: dict[int, int] = dict(cells or {})  # changed by `record` and `add` alone
        self._encoded: bytes | None = None  # the bytes it was decoded from, until it changes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.cells == other.cells

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Histogram({self.cells!r})"

    @property
    def total(self) -> int:
        """Number of calls in all cells."""
        return sum(self.cells.values())

    @property
    def counts(self) -> Mapping[int, int]:
        """Number of calls in each bucket, of all sizes together."""
        if max(self.cells, default=0) < BUCKETS:
            return self.cells
        out: dict[int, int] = {}
        for cell, n in self.cells.items():
            out[cell % BUCKETS] = out.get(cell % BUCKETS, 0) + n
        return out

    def by_size(self) -> dict[str, Histogram]:
        """A histogram for each class of size that moved bytes, without the size, in order of size."""
        out: dict[int, Histogram] = {}
        for cell in sorted(self.cells):
            size, bucket = divmod(cell, BUCKETS)
            if size != NOTHING:
                out.setdefault(size, Histogram()).cells[bucket] = self.cells[cell]
        return {SIZES[size]: histogram for size, histogram in out.items()}

    def record(self, ns: int, nbytes: int = 0) -> None:
        """Count a call of this duration, which moved so many bytes."""
        cell = size_class(nbytes) * BUCKETS + bucket_of(ns)
        self.cells[cell] = self.cells.get(cell, 0) + 1
        self._encoded = None

    def add(self, other: Histogram) -> None:
        """Merge another one into this one."""
        cells, get = self.cells, self.cells.get
        for cell, n in other.cells.items():
            cells[cell] = get(cell, 0) + n
        self._encoded = None

    def percentiles(self, percents: Sequence[float], max_ns: int | None = None) -> list[int]:
        """Nanoseconds that so many % of the calls did not exceed, for each of `percents` in rising order; 0 without
        calls.

        `max_ns`, the exact largest value, bounds the answers and is the answer for 100. In the last bucket the answer is
        LIMIT_NS, to be shown as "over" it: the largest value is no percentile."""
        total = self.total
        ranks = [max(1, -int(-(percent * total) // 100)) for percent in percents]
        out: list[int] = []
        seen = 0
        counts = self.counts
        for bucket in sorted(counts):
            seen += counts[bucket]
            while len(out) < len(ranks) and seen >= ranks[len(out)]:
                out.append(_value(bucket, percents[len(out)], max_ns))
            if len(out) == len(ranks):
                break
        return out or [0] * len(ranks)

    def encode(self) -> bytes:
        """Sparse: for each cell in use, the distance from the one before and the count, as LEB128 varints."""
        if self._encoded is not None:
            return self._encoded
        out = bytearray()
        before = 0
        for cell in sorted(self.cells):
            n = self.cells[cell]
            if n:
                _put_varint(out, cell - before)
                _put_varint(out, n)
                before = cell
        return bytes(out)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Histogram:
        """The inverse of `encode`. Raises ValueError for bytes that `encode` cannot have made."""
        data = bytes(data)
        # Every number below 128 is one byte, as most counts of a slot or worker in a second.
        numbers: Sequence[int] = data if data.isascii() else list(_varints(data))
        if len(numbers) % 2:
            raise ValueError("histogram ends inside a cell")
        cells, counts = list(accumulate(numbers[::2])), numbers[1::2]
        if cells and (cells[-1] >= CELLS or 0 in numbers[2::2] or 0 in counts):
            raise ValueError("histogram has a wrong cell or an empty one")
        out = cls(dict(zip(cells, counts, strict=True)))
        out._encoded = data
        return out


def _value(bucket: int, percent: float, max_ns: int | None) -> int:
    if max_ns is not None and percent >= 100:
        return max_ns
    low, high = bucket_bounds(bucket)
    middle = (low + high) // 2
    return middle if max_ns is None else min(middle, max_ns)


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of all histograms."""
    out = Histogram()
    for histogram in histograms:
        out.add(histogram)
    return out


def _put_varint(out: bytearray, n: int) -> None:
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)


def _varints(data: bytes) -> Iterable[int]:
    n = shift = 0
    for byte in data:
        n |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            continue
        yield n
        n = shift = 0
    if shift:
        raise ValueError("histogram ends inside a number")
