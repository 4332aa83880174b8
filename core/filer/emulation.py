"""The emulated filer as one process's storage layer uses it."""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from core.filer.arbiter import Arbiter
from core.filer.model import load_filer
from core.filer.use import arbiter_path
from core.histogram import FIRST_BITS
from core.operations import Op
from core.records import Phase
from core.settings import Settings

_PR_SET_TIMERSLACK = 29  # linux/prctl.h
_PROBE_NS = 200_000
_PROBES = 15
_SPIN_NS = 10_000  # below this, spinning is cheaper than sleeping
_MOST_SPIN_NS = 100_000  # the longest spin if a sleep is too coarse; beyond it the process sleeps for half
_MOST_OVERSHOOT_NS = 500_000  # on a busy machine, the measurement mostly shows other processes

_libc = ctypes.CDLL(None, use_errno=True)


class Pacer:
    """Accurate waiting of one process; calibrated when created, which takes a few milliseconds."""

    def __init__(self) -> None:
        _libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)  # of this thread; refusal only costs exactness
        self.overshoot_ns = min(_MOST_OVERSHOOT_NS, round(statistics.median(_overshoot() for _ in range(_PROBES))))

    def wait_until(self, end_ns: int) -> int:
        """Return at that monotonic time, never before, or at once if it has passed; return the time now."""
        now = time.monotonic_ns()
        while (left := end_ns - now) > _SPIN_NS and (asked := self._sleep_for(left)):
            time.sleep(asked / 1e9)
            before, now = now, time.monotonic_ns()
            if now < end_ns - _SPIN_NS:
                self.overshoot_ns = max(0, min(self.overshoot_ns, now - before - asked))
        while now < end_ns:
            now = time.monotonic_ns()
        return now

    def _sleep_for(self, left: int) -> int:
        """Nanoseconds to sleep of the remaining time; 0: spin."""
        if left > self.overshoot_ns:
            return left - self.overshoot_ns
        return left // 2 if left > _MOST_SPIN_NS else 0


def _overshoot() -> int:
    start = time.monotonic_ns()
    time.sleep(_PROBE_NS / 1e9)
    return time.monotonic_ns() - start - _PROBE_NS


OCTAVES = 45
SERVED_WORDS = 2 + (max(Op) + 1) * OCTAVES  # waited in queues, overshoot, then the calls that are mostly overshoot


def octave(duration_ns: int) -> int:
    """The exponent of the smallest power of two above a duration. All durations in a histogram's first bucket have the
    same."""
    return min(max(duration_ns.bit_length(), FIRST_BITS), OCTAVES - 1)


def mostly_over(served: Sequence[int]) -> dict[str, dict[str, int]]:
    """Calls in `EmulatedFiler.served` that are mostly overshoot: op label → octave → number, without zeros."""
    out: dict[str, dict[str, int]] = {}
    for op in Op:
        begin = 2 + op * OCTAVES
        counts = {str(octave): n for octave, n in enumerate(served[begin : begin + OCTAVES]) if n}
        if counts:
            out[op.label] = counts
    return out


class EmulatedFiler:
    """Makes every call last as long as the arbiter has booked. One per process, created after its fork.

    `served`: `SERVED_WORDS` to which it adds the nanoseconds that calls waited in queues, and that they took longer
    than booked (their overshoot: until the process had a CPU again, and until the underlying storage had done the
    call); then calls of which the overshoot is more than half, by op and `octave` of their duration."""

    def __init__(self, arbiter: Arbiter, pacer: Pacer, served: memoryview | None = None) -> None:
        self.digest = arbiter.digest
        self._arbiter = arbiter
        self._book = arbiter.book
        self._wait_until = pacer.wait_until
        self.served = memoryview(bytearray(8 * SERVED_WORDS)).cast("q") if served is None else served

    def works_on(self, phase: Phase) -> None:
        """Set the phase of the calls that follow: a protocol may have other filer ops for those of phase index."""
        self._arbiter.set_phase(indexing=phase is Phase.INDEX)

    def serve(
        self, op: Op, nbytes: int, arrived_ns: int, path: bytes = b"", argument: int = 0, other: bytes = b""
    ) -> int:
        booked = self._book(op, nbytes, arrived_ns, path, argument, other)
        ended = self._wait_until(booked)
        served = self.served
        served[0] += self._arbiter.waited_ns
        over = ended - booked
        served[1] += over
        if 2 * over > ended - arrived_ns:
            served[2 + op * OCTAVES + octave(ended - arrived_ns)] += 1
        return ended


def emulated_filer(settings: Settings, served: memoryview | None = None) -> EmulatedFiler | None:
    """Attach to the filer that the settings name. Raises UsageError, StorageFault."""
    arbiter = open_arbiter(settings)
    return None if arbiter is None else EmulatedFiler(arbiter, Pacer(), served)


def open_arbiter(settings: Settings) -> Arbiter | None:
    """Open the arbiter of the filer that the settings name, created if it does not exist. Raises UsageError, StorageFault."""
    model = load_filer(settings.filer)
    if model is None:
        return None
    directory = Path(os.path.abspath(settings.filer_arbiter)) if settings.filer_arbiter else None
    return Arbiter(arbiter_path(model.digest, settings.run or settings.scratch, directory), model)
