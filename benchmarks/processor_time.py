"""Processor seconds that a process and everything below it have used, at any moment of a run.

On a machine that does other things too, wall time says how busy these are; processor time says what was used.
"""

from __future__ import annotations

import ctypes
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil

_EVERY_S = 0.1
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h: orphans below us become our children
_REPEATS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What processes that have ended took of the machine."""

    processor_s: float
    system_s: float  # of it in the kernel
    faults: int  # pages touched for the first time, or copied after a fork
    switches: int  # a processor went to another process


@contextmanager
def spent_below() -> Iterator[list[Spent]]:
    """What all processes take that are started in the block and have ended with it, those that nobody waited for too."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    out: list[Spent] = []
    before = _children()
    yield out
    out.append(Spent(**{key: value - before[key] for key, value in _children().items()}))


def _children() -> dict[str, Any]:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "processor_s": usage.ru_utime + usage.ru_stime,
        "system_s": usage.ru_stime,
        "faults": usage.ru_minflt,
        "switches": usage.ru_nvcsw + usage.ru_nivcsw,
    }


def used(process: psutil.Process) -> float:
    """Processor seconds of a process and its descendants so far; what has ended is missing."""
    total = 0.0
    try:
        for one in (process, *process.children(recursive=True)):
            times = one.cpu_times()
            total += times.user + times.system
    except psutil.NoSuchProcess:
        return total
    return total


def microseconds_of(times: int, do: Callable[[], object]) -> float:
    """Of this thread's processor time, each; the fastest repeat: what others do to the caches is no cost of ours."""
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.thread_time_ns()
        for _ in range(times):
            do()
        best = min(best, time.thread_time_ns() - start)
    return best / times / 1000


class Samples:
    """(time since the epoch, processor seconds) in the order of time."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, float]] = []

    def between(self, start: float, end: float) -> float:
        """Processor seconds between two moments, as near as the samples are to them."""
        if not self.readings:
            return 0.0
        return self._at(end) - self._at(start)

    def _at(self, moment: float) -> float:
        return max((seconds for when, seconds in self.readings if when <= moment), default=self.readings[0][1])


@contextmanager
def sampled(pid: int) -> Iterator[Samples]:
    """Samples of a process and its descendants, several a second, while the context is open."""
    samples, ended, process = Samples(), threading.Event(), psutil.Process(pid)

    def sample() -> None:
        while not ended.wait(_EVERY_S):
            samples.readings.append((time.time(), used(process)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()
