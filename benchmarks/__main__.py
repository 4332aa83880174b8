"""`make bench`: measure this machine; prints the figures and writes bench.json. All of it is CPU throughput, local storage, cached."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from benchmarks import demo, dispatcher, review, set_up
from benchmarks.driver import BenchHome, Figure, Figures, bench_home, microseconds_of, spent_below
from benchmarks.workers import measure as floor
from core.operations import NullRecorder
from core.records import Phase
from core.storage.layer import Storage
from monitoring.live import REGION_BYTES, LiveRecorder

LABEL = "CPU throughput, local storage, cached"
_WORKERS = (1, 2, 4)  # of the pipeline and its floor
_CALLS = 20_000  # of each operation whose recording is measured


def main() -> None:
    """Measure everything; exit status 0 whether targets are met or not."""
    parser = argparse.ArgumentParser(prog="make bench BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--scale", default="0.01", help="of the reference corpus (0.01 is about 450 MB raw)")
    parser.add_argument("--repeats", type=int, default=3, help="of each run; the median counts")
    parser.add_argument("--output", type=Path, default=Path("bench.json"))
    arguments = parser.parse_args()
    figures = Figures(arguments.output)
    print(f"{demo.machine()}; {LABEL}; medians of {arguments.repeats}\n", flush=True)
    demo.measure(figures)  # first, while nothing else has filled a cache
    rows = set_up.measure()
    set_up.show(figures.console, rows)
    figures.add("set_up_steps", Figure(value=sum(row[1] for row in rows), unit="steps"))
    figures.add("set_up_s", Figure(value=sum(row[2] for row in rows), unit="s", note="clone to removal, small corpus"))
    _recorded_call(figures)
    with bench_home() as home:
        corpus = home.directory / "corpus"
        began = time.monotonic()
        home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", arguments.scale, "--seed", "1")
        size = sum(path.stat().st_size for path in (corpus / "data").rglob("*") if path.is_file()) / 1e6
        rate = size / (time.monotonic() - began)
        figures.add("generator", Figure(value=rate, unit="MB/s", target=60, note=f"{size:.0f} MB raw, all processes"))
        _pipeline(figures, home, corpus, arguments.repeats)
        for name, target, options, on, off in (
            ("trace_cost", 2, ("--trace",), {}, {}),
            ("live_cost", 3, (), {"EDBENCH_OBSERVE": "on"}, {"EDBENCH_OBSERVE": "off"}),
            ("box_cost", 10, (), {"EDBENCH_BOX": "on"}, {"EDBENCH_BOX": "off"}),
        ):
            percent, note = _cost(home, corpus, arguments.repeats, options, on, off)
            figures.add(name, Figure(value=percent, unit="% of CPU seconds", target=target, at_most=True, note=note))
    with bench_home() as home:
        found = dispatcher.measure(home.directory)
        note = f"marked and sent by the queue manager alone, {dispatcher.PENDING:,} tasks pending"
        figures.add("dispatcher", Figure(value=found.rate, unit="tasks/s", target=1_500, note=note))
        figures.add(
            "dispatcher_memory", Figure(value=found.memory_bytes / 1e6, unit="MB", target=300, at_most=True, note=note)
        )
    review.measure(figures)
    print()
    figures.show()


def _recorded_call(figures: Figures) -> None:
    """Measure a stat and a read of 4 KiB through the storage layer with the live recorder, above the bare system
    call."""
    live = LiveRecorder(memoryview(bytearray(REGION_BYTES)))
    live.select(uuid.UUID(int=1), Phase.EXPAND)
    with tempfile.NamedTemporaryFile() as made:
        made.write(bytes(4096))
        made.flush()
        path = os.fsencode(made.name)
        over = {}
        for kind, recorder in (("live", live), ("null", NullRecorder())):
            storage = Storage(recorder)
            with storage.open(path) as file:
                layer = {"stat": lambda s=storage: s.stat(path), "read": lambda f=file: f.pread(4096, 0)}
                bare = {"stat": lambda: os.lstat(path), "read": lambda: os.pread(made.fileno(), 4096, 0)}
                over[kind] = {op: microseconds_of(_CALLS, layer[op]) - microseconds_of(_CALLS, bare[op]) for op in bare}
    recording = statistics.fmean(over["live"][op] - over["null"][op] for op in over["live"])
    note = ", ".join(f"{op} {us:.2f}" for op, us in over["live"].items()) + f"; of it the live recorder {recording:.2f}"
    figures.add("recorded_call", Figure(value=max(over["live"].values()), unit="µs", target=5, at_most=True, note=note))


def _pipeline(figures: Figures, home: BenchHome, corpus: Path, repeats: int) -> None:
    """Measure pipeline and floor in turn, so that a machine that slows down slows both."""
    ratios: dict[int, list[float]] = {number: [] for number in _WORKERS}
    results: dict[int, list[dict[str, float]]] = {number: [] for number in _WORKERS}
    for _ in range(repeats):
        for number in _WORKERS:
            plain = floor(corpus, home.directory / "floor", number * 4)
            result = home.discover(corpus, "--workers", str(number))
            home.run("job", "delete", str(result["job_id"]))
            results[number].append(result)
            ratios[number].append(plain.seconds / float(result["elapsed_s"]))
    targets = {"gb_per_hour_raw": None, "gb_per_hour_discovered": 60, "items_per_second": 220}
    for number, runs in results.items():
        for key, target in targets.items():
            value = statistics.median(float(run[key]) for run in runs)
            figures.add(f"pipeline_{number}w_{key}", Figure(value=value, unit="", target=target if number == 2 else None, note=LABEL))  # fmt: skip
        note = f"pipeline over the floor of {number * 4} processes, pairs of one run each"
        figures.add(f"ratio_to_floor_{number}w", Figure(value=statistics.median(ratios[number]), unit="", target=0.9, note=note))  # fmt: skip


def _cost(
    home: BenchHome, corpus: Path, pairs: int, options: tuple[str, ...], on: Mapping[str, str], off: Mapping[str, str]
) -> tuple[float, str]:
    """Return the CPU seconds of a feature, in per cent of a run without it, and a note; each pair runs in the other
    order."""
    runs: list[tuple[float, float]] = []
    for number in range(pairs):
        seconds = {}
        for with_it in (True, False) if number % 2 == 0 else (False, True):
            with spent_below() as spent:
                given = options if with_it else ()
                result = home.discover(corpus, "--workers", "2", *given, env=on if with_it else off)
            home.run("job", "delete", str(result["job_id"]))
            seconds[with_it] = spent[0].processor_s
        runs.append((seconds[True], seconds[False]))
    note = "CPU seconds on : off " + ", ".join(f"{used:.1f} : {less:.1f}" for used, less in runs)
    return statistics.median((used / less - 1) * 100 for used, less in runs), note


if __name__ == "__main__":
    main()
