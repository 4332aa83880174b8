"""What the box costs: items per processor second of a run that parses in boxes, and of one that parses in the slots.

Where all cores are busy, as here, items per processor second is what items per second are; but a neighbour on the
machine does not move it. What every worker does once, loading the parsers into its nursery, is taken off and told apart.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import BenchHome
from benchmarks.processor_time import spent_below


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCost:
    """Processor seconds of everything a run starts, services included."""

    pairs: tuple[tuple[float, float], ...]  # in boxes, in slots
    start_s: float  # what the nurseries of a run need to load

    @property
    def percent(self) -> float:
        """Items per processor second lost, after the start; the median of the pairs."""
        return statistics.median((1 - off / (on - self.start_s)) * 100 for on, off in self.pairs)


def measure(home: BenchHome, corpus: Path, pairs: int = 3, workers: int = 2) -> BoxCost:
    """Pairs of runs over `corpus`, each with the other order, so that a machine that slows down slows both."""
    runs: list[tuple[float, float]] = []
    start = _start_s(home, workers)
    for number in range(pairs):
        seconds = {}
        for on in (True, False) if number % 2 == 0 else (False, True):
            seconds[on] = _run(home, corpus, workers, on=on)
        runs.append((seconds[True], seconds[False]))
    return BoxCost(pairs=tuple(runs), start_s=start)


def _start_s(home: BenchHome, workers: int) -> float:
    """What a run over one empty file costs more in boxes."""
    empty = home.directory / "empty"
    empty.mkdir(exist_ok=True)
    (empty / "file").touch()
    spent = [_run(home, empty, workers, on=True) - _run(home, empty, workers, on=False) for _ in range(3)]
    return max(0.0, statistics.median(spent))


def _run(home: BenchHome, corpus: Path, workers: int, *, on: bool) -> float:
    with spent_below() as spent:
        result = home.discover(corpus, "--workers", str(workers), env={"EDBENCH_BOX": "on" if on else "off"})
    home.run("job", "delete", str(result["job_id"]))
    return spent[0].processor_s
