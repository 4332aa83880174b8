"""Processor seconds that a process and everything below it have used, at any moment of a run.

On a machine that does other things too, wall time says how busy these are; processor time says what was used.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

_EVERY_S = 0.1
_REPEATS = 9


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
