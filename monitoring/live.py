"""The live recorder: call counters in memory shared between a slot and its worker's parent process.

The slot is the only writer of a region's counters, the parent the only reader, and there is no lock between them. A
counter is one aligned 8-byte store, so it is never torn itself; the counters of one call are several stores, so the
reader may see a call half recorded: its next collect has the rest. Calls are not counted apart, they are the sum of the
histogram. A slot that is killed loses at most the call it was just recording, because the memory is the parent's too.

A region has several pages, each for one (job, phase), so that counts never mix when a slot changes task: the slot opens
a page for each key it meets and keeps it; when pages run out it closes the one unused longest, and a closed page is
reused only after the reader has acknowledged its final state. One more page, of no key, takes the calls that find none:
they are lost. The reader sees them at once, as the slot may do nothing more before the job's end.

READ and WRITE have a histogram for each class of size (core.operations); the other ops move no bytes and have one.

The largest duration is exact in the interval in which it is the page's largest so far; otherwise it is the upper bound
of its bucket (at most 6.25 % above), never more than the exact largest. So the largest of a whole job is exact."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from itertools import accumulate

from core.histogram import BUCKETS, CELLS, FIRST_BITS, LAST_BITS, OVERFLOW, SUB_BITS, Histogram, bucket_bounds
from core.operations import MOST_BYTES, Op
from core.records import PHASES, Phase
from monitoring.frames import CounterDelta

PAGES = 8

# Offsets in 8-byte words. A region: its pages, and the one for lost calls; a page: its header, then one block for each op.
_GENERATION = 0  # written last by the slot when it opens the page: what is before it is complete
_CLOSED = 1  # == generation once the slot will not write here any more
_ACKED = 2  # == generation once the reader has taken the final state; written by the reader only
_JOB = 3  # two words
_PHASE = 5
_PAGE_HEADER = 8
_TOTAL_NS, _BYTES, _ERRORS, _MAX_NS = 0, 1, 2, 3
_HISTOGRAM = 4
_OPS = max(Op) + 1
_SIZED = (Op.READ, Op.WRITE)
_BLOCKS = [_HISTOGRAM + (CELLS if op in _SIZED else BUCKETS) for op in range(_OPS)]  # length of each op's
_AT = [*accumulate(_BLOCKS, initial=_PAGE_HEADER)]  # where in a page each begins, and last the page's length
_PAGE = _AT[-1]
_SPARE = PAGES * _PAGE  # the page for lost calls, never closed and never emptied
_REGION = _SPARE + _PAGE

REGION_BYTES = _REGION * 8  # of one slot

_STRIDE = [BUCKETS if op in _SIZED else 0 for op in range(_OPS)]  # from one class's histogram to the next one's
_, _SMALL, _MIDDLE, _LARGE = MOST_BYTES
_NOTHING = [bytes(block * 8) for block in _BLOCKS]
_EMPTY_PAGE = bytes((_PAGE - _PAGE_HEADER) * 8)
_AT_ONCE = 16  # cells that are compared together
_UNDER = 1 << FIRST_BITS
_OVER = 1 << LAST_BITS
_SHIFT = FIRST_BITS + 1
_FRACTION = FIRST_BITS - SUB_BITS
_MASK = (1 << SUB_BITS) - 1


def _page_at(number: int) -> int:
    return number * _PAGE


def _words(buffer: memoryview) -> memoryview:
    if buffer.nbytes != REGION_BYTES:
        raise ValueError(f"a recorder region has {REGION_BYTES} bytes, not {buffer.nbytes}")
    return buffer.cast("B").cast("Q")


class LiveRecorder:
    """The slot's side. A new incarnation of the slot continues with the pages that its predecessor left open.

    Call `select` before the first call of each task. Calls recorded outside any page are counted as lost."""

    def __init__(
        self,
        buffer: memoryview,
        *,
        wait_seconds: float = 5.0,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._region = _words(buffer)
        self._wait_seconds = wait_seconds
        self._monotonic = monotonic
        self._sleep = sleep
        self._open: dict[tuple[uuid.UUID, Phase], int] = {}  # least recently used first
        for number in range(PAGES):
            at = _page_at(number)
            generation = self._region[at + _GENERATION]
            if generation and generation != self._region[at + _CLOSED]:
                self._open[_key(self._region, at)] = number
        self._use(_SPARE)

    def _use(self, page_at: int) -> None:
        self._bases = [page_at + at for at in _AT[:-1]]

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
        words = self._region
        base = self._bases[op]
        if duration_ns < _UNDER:
            bucket = base + _HISTOGRAM
            duration_ns = max(duration_ns, 0)
        elif duration_ns < _OVER:
            octave = duration_ns.bit_length() - _SHIFT
            bucket = base + 5 + (octave << SUB_BITS) + ((duration_ns >> (octave + _FRACTION)) & _MASK)
        else:
            bucket = base + _HISTOGRAM + OVERFLOW
        if nbytes:
            words[base + 1] += nbytes
            size = 1 if nbytes <= _SMALL else 2 if nbytes <= _MIDDLE else 3 if nbytes <= _LARGE else 4
            bucket += size * _STRIDE[op]
        words[bucket] += 1
        words[base] += duration_ns
        if error:
            words[base + 2] += 1
        if duration_ns > words[base + 3]:
            words[base + 3] = duration_ns

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        """Count calls for this job and phase from now on.

        May wait, at most `wait_seconds`, for the reader to free a page; without one, calls are counted as lost."""
        key = (job, phase)
        number = self._open.pop(key, None)
        if number is None:
            number = self._free_page()
            if number is None:
                self._use(_SPARE)
                return
            self._begin(number, key)
        self._open[key] = number  # most recently used
        self._use(_page_at(number))
        if len(self._open) > 1 and not self._acknowledged():
            self._close_oldest()  # so that the next key finds a page without waiting

    def _begin(self, number: int, key: tuple[uuid.UUID, Phase]) -> None:
        at = _page_at(number)
        words = self._region
        job, phase = key
        words[at + _PAGE_HEADER : at + _PAGE] = memoryview(_EMPTY_PAGE).cast("Q")
        words[at + _JOB] = job.int >> 64
        words[at + _JOB + 1] = job.int & ((1 << 64) - 1)
        words[at + _PHASE] = PHASES.index(phase)
        words[at + _GENERATION] += 1

    def _acknowledged(self) -> list[int]:
        words = self._region
        ats = ((number, _page_at(number)) for number in range(PAGES))
        return [number for number, at in ats if words[at + _ACKED] == words[at + _GENERATION]]

    def _close_oldest(self) -> None:
        number = self._open.pop(next(iter(self._open)))
        at = _page_at(number)
        self._region[at + _CLOSED] = self._region[at + _GENERATION]

    def _free_page(self) -> int | None:
        deadline = self._monotonic() + self._wait_seconds
        while not (free := self._acknowledged()):
            if len(self._open) == PAGES:
                self._close_oldest()
            if self._monotonic() >= deadline:
                return None
            self._sleep(0.01)
        return free[0]


class RegionReader:
    """The parent's side of one region; it outlives the slots that write there."""

    def __init__(self, buffer: memoryview) -> None:
        self._region = _words(buffer)
        self._generations = [0] * PAGES
        self._before: list[list[bytes]] = [list(_NOTHING) for _ in range(PAGES)]

    @property
    def lost(self) -> int:
        """Calls that no page could take."""
        blocks = [self._region[_SPARE + at :][_HISTOGRAM:block] for at, block in zip(_AT, _BLOCKS, strict=False)]
        return sum(sum(block) for block in blocks)

    def collect(self) -> list[CounterDelta]:
        """Return the calls recorded since the last collect; two pages may have the same key."""
        out: list[CounterDelta] = []
        for number in range(PAGES):
            at = _page_at(number)
            generation = self._region[at + _GENERATION]
            if generation == self._region[at + _ACKED]:
                continue
            closed = self._region[at + _CLOSED] == generation  # seen before the counters: they are final then
            if self._generations[number] != generation:
                self._generations[number] = generation
                self._before[number] = list(_NOTHING)
            out += self._page_growth(number, at)
            if closed:
                self._region[at + _ACKED] = generation
        return out

    def _page_growth(self, number: int, at: int) -> list[CounterDelta]:
        out: list[CounterDelta] = []
        job, phase = _key(self._region, at)
        before = self._before[number]
        for op in Op:
            base = at + _AT[op]
            now = self._region[base : base + _BLOCKS[op]].tobytes()
            if now != before[op]:
                out.append(_growth(job, phase, op, before[op], now))
                before[op] = now
        return out


def _key(words: memoryview, at: int) -> tuple[uuid.UUID, Phase]:
    return uuid.UUID(int=words[at + _JOB] << 64 | words[at + _JOB + 1]), PHASES[words[at + _PHASE]]


def _growth(job: uuid.UUID, phase: Phase, op: Op, before: bytes, now: bytes) -> CounterDelta:
    old, new = memoryview(before).cast("Q"), memoryview(now).cast("Q")
    histogram = Histogram({cell: n - old[_HISTOGRAM + cell] for cell, n in _changed(before, now)})
    max_ns = new[_MAX_NS]
    if max_ns == old[_MAX_NS] and histogram.cells:
        highest = max(histogram.counts)
        if highest != OVERFLOW:
            max_ns = min(bucket_bounds(highest)[1], max_ns)
    return CounterDelta(
        job=job,
        phase=phase,
        op=op,
        calls=histogram.total,
        bytes=new[_BYTES] - old[_BYTES],
        errors=new[_ERRORS] - old[_ERRORS],
        total_ns=new[_TOTAL_NS] - old[_TOTAL_NS],
        max_ns=max_ns,
        histogram=histogram,
    )


def _changed(before: bytes, now: bytes) -> Iterator[tuple[int, int]]:
    """Yield the cells whose count differs from before, with the new count. Comparing bytes is quick, so that is done
    first for all cells of a class of size, then for some at a time: few of them have new calls."""
    old, new = memoryview(before).cast("Q"), memoryview(now).cast("Q")
    for first, end in _unlike(before, now, _HISTOGRAM, len(new), BUCKETS):
        for low, high in _unlike(before, now, first, end, _AT_ONCE):
            for at, (was, n) in enumerate(zip(old[low:high], new[low:high], strict=True), low - _HISTOGRAM):
                if n != was:
                    yield at, n


def _unlike(before: bytes, now: bytes, first: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the first and end word of each step of `step` words from `first` to `end` in which the two differ."""
    for low in range(first, end, step):
        high = min(low + step, end)
        if before[low * 8 : high * 8] != now[low * 8 : high * 8]:
            yield low, high
