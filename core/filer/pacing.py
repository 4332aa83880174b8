"""Waiting until a moment, more exactly than a plain sleep.

A sleep ends late: by the kernel's timer slack (50 us by default, asked down to 1 ns here) and by the time it takes
to run again. What is left of it is measured once and taken off every sleep.
"""

from __future__ import annotations

import ctypes
import statistics
import time

_PR_SET_TIMERSLACK = 29  # linux/prctl.h
_PROBE_NS = 200_000
_PROBES = 15
_SPIN_NS = 10_000  # the rest that is cheaper to spin away than to sleep through
_MOST_OVERSHOOT_NS = 500_000  # on a busy machine the measurement says more about the neighbours

_libc = ctypes.CDLL(None, use_errno=True)


class Pacer:
    """One process's waiting; calibrated when made, which takes a few milliseconds."""

    def __init__(self) -> None:
        _libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)  # of this thread; refusal only costs exactness
        self.overshoot_ns = min(_MOST_OVERSHOOT_NS, round(statistics.median(_overshoot() for _ in range(_PROBES))))

    def wait_until(self, end_ns: int) -> int:
        """Return at that monotonic time, or at once when it is over; the time now."""
        now = time.monotonic_ns()
        left = end_ns - now - self.overshoot_ns
        if left > 0:
            time.sleep(left / 1e9)
            now = time.monotonic_ns()
        if end_ns - now <= _SPIN_NS:
            while now < end_ns:
                now = time.monotonic_ns()
        return now


def _overshoot() -> int:
    start = time.monotonic_ns()
    time.sleep(_PROBE_NS / 1e9)
    return time.monotonic_ns() - start - _PROBE_NS
