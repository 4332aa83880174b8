"""Memory of processes while something runs, and what became of it between the second tenth and the last."""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

Groups = Mapping[str, list[psutil.Process]]  # processes by what they are, such as "slot"


@dataclass(slots=True)
class Samples:
    """When (seconds since the epoch), and PSS in bytes of the largest process of each group, sample by sample."""

    sizes: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))

    def growth(self, start: float = 0.0, end: float = float("inf")) -> dict[str, float]:
        """By group, between two moments: median of the last tenth over median of the second tenth; 1.0 is flat."""
        within = {name: [size for at, size in sizes if start <= at <= end] for name, sizes in self.sizes.items()}
        return {name: tenth(sizes, 9) / max(1.0, tenth(sizes, 1)) for name, sizes in within.items() if len(sizes) >= 20}

    def peak(self, name: str) -> int:
        """Bytes."""
        return max((size for _, size in self.sizes.get(name, [])), default=0)


def tenth(values: list[int], number: int) -> float:
    """Median of one tenth of a series, the first being number 0."""
    size = len(values) / 10
    return float(statistics.median(values[int(number * size) : max(int((number + 1) * size), int(number * size) + 1)]))


@contextmanager
def sampled(groups: Callable[[], Groups], seconds: float = 2.0) -> Iterator[Samples]:
    """Look at the groups every so many seconds while the block runs."""
    samples, stop = Samples(), threading.Event()

    def look() -> None:
        while not stop.wait(seconds):
            for name, processes in groups().items():
                if sizes := [size for size in map(_pss, processes) if size]:
                    samples.sizes[name].append((time.time(), max(sizes)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _pss(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(process.memory_full_info().pss)
    return 0


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for it; RuntimeError when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:g} s in vain: {what}")
        time.sleep(0.2)
