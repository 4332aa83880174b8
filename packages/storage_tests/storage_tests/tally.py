"""Counts of the clients' work: calls with latency histograms and bytes by second, and counters in shared memory for the
live page.

A tally is the recorder of a client (core.operations.Recorder). Besides calls it counts whole files or objects, from the
first call to the last. The counters only grow, cost one addition per call, and are made only for a live page."""

from __future__ import annotations

import mmap
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from core.histogram import BUCKETS, CELLS, Histogram, buckets_of
from core.operations import MOST_BYTES, Op
from core.plain import grouped
from experiments.result.latency import latency
from experiments.result.schema import Latency

_BYTES, _FILES, _TROUBLES, _WHOLE_NS = range(4)
_WORDS = 4


class Counters:
    """One process's access to the counters, which are created if missing: places for so many clients. Raises
    OSError."""

    def __init__(self, path: Path, clients: int) -> None:
        self.path = path
        size = clients * _WORDS * 8
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
            self._words = memoryview(mmap.mmap(descriptor, size)).cast("q")
        finally:
            os.close(descriptor)

    def of(self, client: int) -> Counter:
        """Return the counter of one client; no other client writes there meanwhile."""
        return Counter(self._words[client * _WORDS : (client + 1) * _WORDS])

    def totals(self) -> tuple[int, int, int, int]:
        """Return the current totals of all clients: bytes moved, files or objects written, read or removed, those
        refused or failed, and the nanoseconds that all took together. A call under way may be half included."""
        words = self._words
        moved, files, troubles, took = (sum(words[kind::_WORDS].tolist()) for kind in range(_WORDS))
        return moved, files, troubles, took


class Counter:
    """Counter of one client."""

    __slots__ = ("_words",)

    def __init__(self, words: memoryview) -> None:
        self._words = words

    def moved(self, nbytes: int) -> None:
        """Count a call that moves bytes."""
        self._words[_BYTES] += nbytes

    def whole(self, took_ns: int, error: int) -> None:
        """Count a whole file or object."""
        words = self._words
        words[_TROUBLES if error else _FILES] += 1
        words[_WHOLE_NS] += took_ns


WHOLE_WRITE, WHOLE_READ, WHOLE_REMOVE = range(len(Op), len(Op) + 3)
LABELS = (*(op.label for op in Op), "whole write", "whole read", "whole remove")
_KEPT = 4_096  # calls that are counted together
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Calls of one kind."""

    label: str
    calls: int
    bytes: int
    errors: int
    total_ns: int
    max_ns: int
    cells: tuple[tuple[int, int], ...]  # of a core.histogram.Histogram

    @property
    def histogram(self) -> Histogram:
        return Histogram(dict(self.cells))


class Tally:
    """Counts of one client; for one thread. `moves`: the kinds whose bytes are counted by second; `watched`: also
    counts, for the live view."""

    def __init__(self, moves: Collection[int], watched: Counter | None = None) -> None:
        self._moves = np.array(sorted(moves))
        self._watched = None if watched is None else (watched, frozenset(moves))
        self.begin(0)

    def begin(self, start_ns: int) -> None:
        """Start with no counts; seconds are counted from this monotonic moment."""
        self._start_ns = start_ns
        self._counts = np.zeros(len(LABELS) * CELLS, np.int64)
        self._bytes, self._errors, self._total, self._most = (np.zeros(len(LABELS), np.int64) for _ in range(4))
        self._seconds = np.zeros(64, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._kinds: list[int] = []
        self._begun: list[int] = []
        self._took: list[int] = []
        self._moved: list[int] = []
        self._wrong: list[int] = []

    def record(
        self,
        op: Op,
        start_ns: int,
        duration_ns: int,
        nbytes: int,
        path: bytes,
        error: int,
        argument: int = 0,
        other: bytes = b"",
    ) -> None:
        """Count one call, with the arguments of every recorder."""
        self.whole(op, start_ns, duration_ns, nbytes, error)

    def whole(self, kind: int, start_ns: int, duration_ns: int, nbytes: int, error: int) -> None:
        """Count one of a kind that LABELS names; `error`: 0 if it succeeded."""
        self._kinds.append(kind)
        self._begun.append(start_ns)
        self._took.append(duration_ns)
        self._moved.append(nbytes)
        if error:
            self._wrong.append(kind)
        if self._watched is not None:
            counter, moves = self._watched
            if kind in moves:
                counter.moved(nbytes)
            if kind >= WHOLE_WRITE:
                counter.whole(duration_ns, error)
        if len(self._kinds) >= _KEPT:
            self._fold()

    def _fold(self) -> None:
        if not self._kinds:
            return
        kinds = np.array(self._kinds)
        begun, took, moved = (np.array(numbers, np.int64) for numbers in (self._begun, self._took, self._moved))
        wrong = np.array(self._wrong, np.int64)
        self._clear()
        sizes = np.searchsorted(MOST_BYTES, moved)  # core.operations.size_class of many
        cells, counts = np.unique(kinds * CELLS + sizes * BUCKETS + buckets_of(took), return_counts=True)
        self._counts[cells] += counts
        np.add.at(self._bytes, kinds, moved)
        np.add.at(self._total, kinds, took)
        np.add.at(self._errors, wrong, 1)
        np.maximum.at(self._most, kinds, took)
        counted = np.isin(kinds, self._moves) & (moved > 0)
        if counted.any():
            self._by_second((begun + took)[counted], moved[counted])

    def _by_second(self, ended: np.ndarray, moved: np.ndarray) -> None:
        seconds = np.maximum(ended - self._start_ns, 0) // _SECOND
        while int(seconds.max()) >= len(self._seconds):
            self._seconds = np.concatenate((self._seconds, np.zeros_like(self._seconds)))
        np.add.at(self._seconds, seconds, moved)

    def counted(self) -> tuple[Counted, ...]:
        """Return the counts of the kinds that occurred."""
        self._fold()
        out = []
        for kind, label in enumerate(LABELS):
            cells = self._counts[kind * CELLS : (kind + 1) * CELLS]
            used = np.flatnonzero(cells)
            if len(used):
                out.append(
                    Counted(
                        label=label,
                        calls=int(cells.sum()),
                        bytes=int(self._bytes[kind]),
                        errors=int(self._errors[kind]),
                        total_ns=int(self._total[kind]),
                        max_ns=int(self._most[kind]),
                        cells=tuple((int(cell), int(cells[cell])) for cell in used),
                    )
                )
        return tuple(out)

    def bytes_by_second(self) -> tuple[int, ...]:
        """Return bytes moved by calls that ended in each second; a long call's bytes are all in its last one."""
        self._fold()
        used = np.flatnonzero(self._seconds)
        return tuple(int(n) for n in self._seconds[: used[-1] + 1]) if len(used) else ()


def added(each: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the sums by second."""
    return tuple(map(sum, zip_longest(*each, fillvalue=0)))


def merged(counts: Iterable[Counted]) -> tuple[Counted, ...]:
    """Merge the counts of several clients, by label."""
    by_label = grouped(counts, lambda one: one.label)
    return tuple(_sum(label, by_label[label]) for label in LABELS if label in by_label)


def _sum(label: str, counts: list[Counted]) -> Counted:
    histogram = Histogram()
    for one in counts:
        histogram.add(one.histogram)
    return Counted(
        label=label,
        calls=sum(one.calls for one in counts),
        bytes=sum(one.bytes for one in counts),
        errors=sum(one.errors for one in counts),
        total_ns=sum(one.total_ns for one in counts),
        max_ns=max(one.max_ns for one in counts),
        cells=tuple(sorted(histogram.cells.items())),
    )


def latencies(counted: Iterable[Counted]) -> dict[str, Latency]:
    """Return the latencies by label."""
    return {
        one.label: latency(one.calls, one.bytes, one.errors, one.histogram, one.max_ns) for one in counted if one.calls
    }
