"""Latency histograms with fixed log-linear buckets: 16 to the octave, 1 µs (2¹⁰ ns) to 2.4 hours (2⁴³ ns).

Fixed buckets merge by addition, over seconds, slots and hosts, so that a percentile is always taken from all
calls and never averaged. A bucket is 1/16 of its lower bound wide; a percentile is given as the middle of its
bucket, so it is off by at most 3.2 %. (The scheme is that of HdrHistogram, http://hdrhistogram.org, with one
significant hexadecimal digit.) The largest value is kept beside the histogram, exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

SUB_BITS = 4
FIRST_BITS = 10  # everything under 2**10 ns is bucket 0
LAST_BITS = 43  # everything from 2**43 ns is the last bucket
OVERFLOW = 1 + ((LAST_BITS - FIRST_BITS) << SUB_BITS)
BUCKETS = OVERFLOW + 1
LIMIT_NS = 1 << LAST_BITS  # a percentile of this is one of which only is known that it is no less

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


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """Nanoseconds [low, high) of a bucket; the last one is given as empty, it has no upper bound."""
    if bucket == 0:
        return 0, 1 << FIRST_BITS
    if bucket == OVERFLOW:
        return 1 << LAST_BITS, 1 << LAST_BITS
    octave, part = divmod(bucket - 1, 1 << SUB_BITS)
    width = 1 << (octave + FIRST_BITS - SUB_BITS)
    low = ((1 << SUB_BITS) + part) * width
    return low, low + width


class Histogram:
    """How many calls fell into each bucket."""

    __slots__ = ("_encoded", "counts")

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts: dict[int, int] = dict(counts or {})  # changed by `record` and `add` alone
        self._encoded: bytes | None = None  # as it was decoded, while it is unchanged

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Histogram({self.counts!r})"

    @property
    def total(self) -> int:
        """Calls in all buckets."""
        return sum(self.counts.values())

    def record(self, ns: int) -> None:
        """One more call of this duration."""
        bucket = bucket_of(ns)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self._encoded = None

    def add(self, other: Histogram) -> None:
        """Merge another one into this one."""
        counts, get = self.counts, self.counts.get
        for bucket, n in other.counts.items():
            counts[bucket] = get(bucket, 0) + n
        self._encoded = None

    def percentile(self, percent: float, max_ns: int | None = None) -> int:
        """Nanoseconds that `percent` % of the calls did not exceed; 0 without calls.

        `max_ns`, the exact largest value, bounds the answer and is the answer for 100. In the last bucket the answer is
        LIMIT_NS, to be shown as "over" it: the largest value is no percentile.
        """
        return self.percentiles((percent,), max_ns)[0]

    def percentiles(self, percents: Sequence[float], max_ns: int | None = None) -> list[int]:
        """The same for several, in rising order, at the price of one."""
        total = self.total
        ranks = [max(1, -int(-(percent * total) // 100)) for percent in percents]
        out: list[int] = []
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            while len(out) < len(ranks) and seen >= ranks[len(out)]:
                out.append(_value(bucket, percents[len(out)], max_ns))
            if len(out) == len(ranks):
                break
        return out or [0] * len(ranks)

    def encode(self) -> bytes:
        """Sparse: for each bucket in use, the distance from the one before and the count, as LEB128 varints."""
        if self._encoded is not None:
            return self._encoded
        out = bytearray()
        before = 0
        for bucket in sorted(self.counts):
            n = self.counts[bucket]
            if n:
                _put_varint(out, bucket - before)
                _put_varint(out, n)
                before = bucket
        return bytes(out)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Histogram:
        """The inverse of `encode`; raises ValueError when it is not that."""
        data = bytes(data)
        # Every number below 128 is one byte: what one slot or worker counts in a second mostly is.
        numbers: Sequence[int] = data if data.isascii() else list(_varints(data))
        if len(numbers) % 2:
            raise ValueError("histogram ends inside a pair")
        buckets, counts = list(accumulate(numbers[::2])), numbers[1::2]
        if buckets and (buckets[-1] >= BUCKETS or 0 in numbers[2::2] or 0 in counts):
            raise ValueError("histogram has a wrong bucket or an empty one")
        out = cls(dict(zip(buckets, counts, strict=True)))
        out._encoded = data
        return out


def _value(bucket: int, percent: float, max_ns: int | None) -> int:
    if max_ns is not None and percent >= 100:
        return max_ns
    low, high = bucket_bounds(bucket)
    middle = (low + high) // 2
    return middle if max_ns is None else min(middle, max_ns)


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of all of them."""
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
