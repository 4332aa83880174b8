"""Waiting until a moment, more exactly than a plain sleep, and never less long.

A sleep ends late: by the kernel's timer slack (50 us by default, asked down to 1 ns here) and by the time it takes
to run again. What is left of it is measured at the beginning and taken off every sleep. A machine that was busy then
and no longer is wakes us before the moment; then the rest is waited for too, and the measurement corrected.
"""

from __future__ import annotations

import ctypes
import statistics
import time

_PR_SET_TIMERSLACK = 29  # linux/prctl.h
_PROBE_NS = 200_000
_PROBES = 15
_SPIN_NS = 10_000  # the rest that is cheaper to spin away than to sleep through
_MOST_SPIN_NS = 100_000  # where a sleep is too coarse; beyond it the measurement is put to the test
_MOST_OVERSHOOT_NS = 500_000  # on a busy machine the measurement says more about the neighbours

_libc = ctypes.CDLL(None, use_errno=True)


class Pacer:
    """One process's waiting; calibrated when made, which takes a few milliseconds."""

    def __init__(self) -> None:
        _libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)  # of this thread; refusal only costs exactness
        self.overshoot_ns = min(_MOST_OVERSHOOT_NS, round(statistics.median(_overshoot() for _ in range(_PROBES))))

    def wait_until(self, end_ns: int) -> int:
        """Return at that monotonic time, never before, or at once when it is over; the time now."""
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
        """How long to sleep of what is left; 0: spin."""
        if left > self.overshoot_ns:
            return left - self.overshoot_ns
        return left // 2 if left > _MOST_SPIN_NS else 0


def _overshoot() -> int:
    start = time.monotonic_ns()
    time.sleep(_PROBE_NS / 1e9)
    return time.monotonic_ns() - start - _PROBE_NS
