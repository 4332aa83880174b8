"""Memory and processor seconds of processes while something runs, and what became of them between the second tenth and the
last.

PSS counts a share of every mapped page, those of files too. Private memory (USS) is what a process alone has and what would
be free without it: pages of a mapped file that the kernel could drop at any moment are in it only while nobody else maps
them.
"""

from __future__ import annotations

import bisect
import contextlib
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

Groups = Mapping[str, list[psutil.Process]]  # processes by what they are, such as "slot"


@dataclass(slots=True)
class Samples:
    """By group and sample, with seconds since the epoch: PSS and private memory in bytes of the largest process, and the
    processor seconds of all its processes so far."""

    sizes: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    private: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    processor: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def growth(self, start: float = 0.0, end: float = float("inf"), *, private: bool = False) -> dict[str, float]:
        """By group, between two moments: median of the last tenth over median of the second tenth; 1.0 is flat."""
        seen = self.private if private else self.sizes
        within = {name: [size for at, size in sizes if start <= at <= end] for name, sizes in seen.items()}
        return {name: tenth(sizes, 9) / max(1.0, tenth(sizes, 1)) for name, sizes in within.items() if len(sizes) >= 20}

    def peak(self, name: str) -> int:
        """Bytes of PSS."""
        return max((size for _, size in self.sizes.get(name, [])), default=0)

    def spent(self, name: str, start: float, end: float) -> float:
        """Processor seconds of a group between two moments; between samples they are taken as spent evenly."""
        seen = self.processor.get(name)
        if not seen:
            return 0.0
        times, seconds = zip(*seen, strict=True)
        return _between(times, seconds, end) - _between(times, seconds, start)


def tenth(values: list[int], number: int) -> float:
    """Median of one tenth of a series, the first being number 0."""
    size = len(values) / 10
    return float(statistics.median(values[int(number * size) : max(int((number + 1) * size), int(number * size) + 1)]))


def _between(times: Sequence[float], values: Sequence[float], at: float) -> float:
    after = bisect.bisect_left(times, at)
    if after in (0, len(times)):
        return values[min(after, len(values) - 1)]
    share = (at - times[after - 1]) / (times[after] - times[after - 1])
    return values[after - 1] + share * (values[after] - values[after - 1])


@contextmanager
def sampled(groups: Callable[[], Groups], seconds: float = 2.0) -> Iterator[Samples]:
    """Look at the groups every so many seconds while the block runs."""
    samples, stop = Samples(), threading.Event()
    spent: dict[str, dict[psutil.Process, float]] = defaultdict(dict)  # of those that have ended, what was seen last

    def look() -> None:
        while not stop.wait(seconds):
            for name, processes in groups().items():
                for process in processes:
                    with contextlib.suppress(psutil.Error):
                        times = process.cpu_times()
                        spent[name][process] = times.user + times.system
                samples.processor[name].append((time.time(), sum(spent[name].values())))
                if sizes := [size for size in map(_sizes, processes) if size is not None]:
                    samples.sizes[name].append((time.time(), max(pss for pss, _ in sizes)))
                    samples.private[name].append((time.time(), max(uss for _, uss in sizes)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _sizes(process: psutil.Process) -> tuple[int, int] | None:
    """PSS and private memory; None of one that has ended."""
    with contextlib.suppress(psutil.Error):
        memory = process.memory_full_info()
        return int(memory.pss), int(memory.uss)
    return None


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for it; RuntimeError when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:g} s in vain: {what}")
        time.sleep(0.2)
