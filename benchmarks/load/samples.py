"""Memory and processor seconds of processes while something runs, and what became of memory between the second tenth and
the last.

PSS alone says little of one process: it grows when a neighbour gives up what both shared, and with every page of an
index or of the database's buffers that is looked at. So three sizes are told of each; see `Size`.
"""

from __future__ import annotations

import bisect
import contextlib
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psutil

Groups = Mapping[str, list[psutil.Process]]  # processes by what they are, such as "slot"


class Size(NamedTuple):
    """Memory of one process as Linux counts it (proc_pid_smaps(5)), in bytes; or ratios of these."""

    pss: float  # everything it sees, what it shares in equal parts
    private: float  # what nobody else sees (USS): pages of files that it alone has mapped are in it, too
    own: float  # anonymous: what it asked for and wrote to, whoever shares it since a fork; no page of a file


@dataclass(slots=True)
class Samples:
    """When (seconds since the epoch), and each size of the largest process of each group, sample by sample; and the
    processor seconds of all its processes so far."""

    sizes: dict[str, list[tuple[float, Size]]] = field(default_factory=lambda: defaultdict(list))
    processor: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def growth(self, start: float = 0.0, end: float = float("inf")) -> dict[str, Size]:
        """By group, between two moments: median of the last tenth over median of the second tenth; 1.0 is flat."""
        within = {name: [size for at, size in sizes if start <= at <= end] for name, sizes in self.sizes.items()}
        return {
            name: Size(*map(_growth, zip(*sizes, strict=True))) for name, sizes in within.items() if len(sizes) >= 20
        }

    def peak(self, name: str) -> Size:
        """The largest of each."""
        return largest(size for _, size in self.sizes.get(name, []))

    def spent(self, name: str, start: float, end: float) -> float:
        """Processor seconds of a group between two moments; between samples they are taken as spent evenly."""
        seen = self.processor.get(name)
        if not seen:
            return 0.0
        times, seconds = zip(*seen, strict=True)
        return _between(times, seconds, end) - _between(times, seconds, start)


def largest(sizes: Iterable[Size]) -> Size:
    """The largest of each, of whichever process; zeros where there is none."""
    return Size(*map(max, zip(Size(0, 0, 0), *sizes, strict=True)))


def _growth(sizes: Sequence[float]) -> float:
    return tenth(sizes, 9) / max(1.0, tenth(sizes, 1))


def tenth(values: Sequence[float], number: int) -> float:
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
                if sizes := [size for process in processes if (size := size_of(process.pid)) is not None]:
                    samples.sizes[name].append((time.time(), largest(sizes)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def size_of(pid: int) -> Size | None:
    """What a process has now; None where it is gone, or is somebody else's."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    found = {
        key: int(rest.split()[0]) * 1024 for key, _, rest in (line.partition(":") for line in text.splitlines()[1:])
    }
    if "Pss" not in found:  # it has ended, and only its parent does not know yet
        return None
    return Size(found["Pss"], found["Private_Clean"] + found["Private_Dirty"], found["Anonymous"])


def until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for it; RuntimeError when it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:g} s in vain: {what}")
        time.sleep(0.2)
