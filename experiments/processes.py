"""What the kernel says of this command's workers: processor time, and time spent waiting for one (proc(5), schedstat)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

_PROC = Path("/proc")
_NS = 1e9


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def host_seconds() -> tuple[float, float]:
    """Processor seconds that the whole host was busy, and those that passed, since it was started."""
    times = psutil.cpu_times()
    busy = sum(getattr(times, name, 0.0) for name in ("user", "system", "nice", "irq", "softirq", "steal"))
    return busy, busy + times.idle + getattr(times, "iowait", 0.0)


class WorkerMeter:
    """Adds up what all worker processes below one process have used, those included that have ended since.

    The kernel counts for each thread; what a thread used after the last look before its end is missed.
    """

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._seen: dict[tuple[int, str], tuple[int, int]] = {}  # (process, thread) → on a processor, waiting, ns

    def read(self) -> tuple[float, float]:
        """Seconds on a processor and seconds waiting for one, since the processes began."""
        for pid in self._workers():
            for thread, used in _threads(pid):
                self._seen[pid, thread] = used
        return sum(u[0] for u in self._seen.values()) / _NS, sum(u[1] for u in self._seen.values()) / _NS

    def _workers(self) -> Iterator[int]:
        try:
            below = psutil.Process(self._parent).children(recursive=True)
        except psutil.Error:
            return
        for process in below:
            try:
                line = process.cmdline()
            except psutil.Error:
                continue
            if "-m" in line and "worker" in line[line.index("-m") :][1:2]:
                yield process.pid


def _threads(pid: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each thread with its nanoseconds on a processor and in a run queue; nothing for a process that is gone."""
    try:
        names = os.listdir(_PROC / str(pid) / "task")
    except OSError:
        return
    for name in names:
        try:
            fields = (_PROC / str(pid) / "task" / name / "schedstat").read_text().split()
        except OSError:
            continue
        if len(fields) >= 2:
            yield name, (int(fields[0]), int(fields[1]))
