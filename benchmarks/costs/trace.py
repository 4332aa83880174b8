"""What `discover --trace` costs: processor seconds of a run that keeps every call, and of one that does not."""

from __future__ import annotations

import resource
import statistics
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import BenchHome


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCost:
    """Processor seconds of everything a run starts, services and the merging of the trace included."""

    pairs: tuple[tuple[float, float], ...]  # with, without
    calls: int  # of the last trace
    bytes: int
    lost: int

    @property
    def percent(self) -> float:
        """Of a run without; the median of the pairs."""
        return statistics.median((on / off - 1) * 100 for on, off in self.pairs)

    @property
    def bytes_per_million(self) -> float:
        """Size of a trace of a million calls."""
        return self.bytes / self.calls * 1e6


def measure(home: BenchHome, corpus: Path, pairs: int = 3, workers: int = 2) -> TraceCost:
    """Pairs of runs over `corpus`, each with the other order, so that a machine that slows down slows both."""
    runs: list[tuple[float, float]] = []
    trace: dict[str, int] = {}
    for number in range(pairs):
        seconds = {}
        for on in (True, False) if number % 2 == 0 else (False, True):
            before = _children_s()
            result = home.discover(corpus, "--workers", str(workers), *(["--trace"] if on else []))
            seconds[on] = _children_s() - before
            trace = result["trace"] if on else trace
            home.run("job", "delete", str(result["job_id"]))
        runs.append((seconds[True], seconds[False]))
    return TraceCost(pairs=tuple(runs), calls=trace["calls"], bytes=trace["bytes"], lost=trace["lost"])


def _children_s() -> float:
    """Of all processes below this one that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
