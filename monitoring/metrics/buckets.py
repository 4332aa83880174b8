"""Histograms as Prometheus has them, with few buckets: powers of two of nanoseconds, 4 µs to 17 s.

They are octaves of `core.histogram`, so its counts become these exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from core.histogram import OVERFLOW, Histogram, bucket_bounds

FIRST_BITS, LAST_BITS = 12, 34
BOUNDS_NS = tuple(1 << bits for bits in range(FIRST_BITS, LAST_BITS + 1))
WORDS = len(BOUNDS_NS) + 2  # a count for each bound and one for what is above them, then the sum in nanoseconds

Timer = Callable[[int], None]  # takes one duration in nanoseconds


def bound_labels() -> tuple[str, ...]:
    """The values of label `le`, in seconds."""
    return (*(repr(bound / 1e9) for bound in BOUNDS_NS), "+Inf")


def bucket_of(ns: int) -> int:
    """The number of the bucket of a duration in nanoseconds."""
    return min(max((ns - 1).bit_length() - FIRST_BITS, 0), len(BOUNDS_NS)) if ns > 0 else 0


# For each bucket of core.histogram that of ours: it ends at or below our bound.
_OURS = (*(bucket_of(bucket_bounds(fine)[1]) for fine in range(OVERFLOW)), len(BOUNDS_NS))


def coarsened(histogram: Histogram, total_ns: int) -> list[int]:
    """The same durations as WORDS words."""
    words = [0] * WORDS
    for fine, count in histogram.counts.items():
        words[_OURS[fine]] += count
    words[-1] = total_ns
    return words


def count_into(words: list[int] | memoryview[int], at: int) -> Timer:
    """What counts durations into the WORDS words from `at` on. Only for one thread at a time."""
    total = at + WORDS - 1

    def count(ns: int) -> None:
        words[at + bucket_of(ns)] += 1
        words[total] += ns

    return count


def cumulative(words: Sequence[int]) -> tuple[list[tuple[str, float]], float]:
    """(bucket label, count up to there) and the sum in seconds, as a histogram's family takes them."""
    buckets, seen = [], 0
    for label, count in zip(bound_labels(), words[: WORDS - 1], strict=True):
        seen += count
        buckets.append((label, float(seen)))
    return buckets, words[WORDS - 1] / 1e9


class Timers:
    """A histogram for each of some names, of durations that the threads of one process take."""

    def __init__(self, names: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._words = {name: [0] * WORDS for name in names}

    def timer(self, name: str) -> Timer:
        """What counts into the histogram of a name."""
        count = count_into(self._words[name], 0)

        def locked(ns: int) -> None:
            with self._lock:
                count(ns)

        return locked

    def read(self) -> dict[str, list[int]]:
        """The words of each histogram."""
        with self._lock:
            return {name: list(words) for name, words in self._words.items()}
