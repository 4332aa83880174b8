"""Processor time of a slot's work: its own thread's, and that of the box that parses for it."""

from __future__ import annotations

import time

_box_clock: int | None = None


def count_box(pid: int) -> None:
    """From now on the processor time of this process, a box, counts as ours. 0: there is none."""
    global _box_clock
    _box_clock = clock_of(pid) if pid else None


def clock_of(pid: int) -> int:
    """What clock_gettime(2) calls the processor time of a process. The kernel lets anybody read it."""
    return (~pid << 3) | 2  # clock_getcpuclockid(3) as glibc works it out


def processor_seconds() -> float:
    """So far; only differences mean anything. What a box took that has died since is left out: its slot dies too."""
    own = time.thread_time()
    if _box_clock is None:
        return own
    try:
        return own + time.clock_gettime(_box_clock)
    except OSError:
        return own
