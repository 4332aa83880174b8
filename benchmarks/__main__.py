"""`make bench`: prints every figure and writes bench.json. All of it is CPU throughput, local storage, cached."""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from benchmarks import demo, export, filer, floor, generator, imaging, mbox, review, set_up, timeline
from benchmarks.bench_home import BenchHome, bench_home
from benchmarks.costs import (
    box as box_cost,
)
from benchmarks.costs import (
    index_engines,
)
from benchmarks.costs import (
    ledger as ledger_share,
)
from benchmarks.costs import (
    live as live_cost,
)
from benchmarks.costs import (
    record as record_cost,
)
from benchmarks.costs import (
    trace as trace_cost,
)
from benchmarks.costs import (
    waits as wait_cost,
)
from benchmarks.figures import Figure, Figures
from benchmarks.queue import dispatcher, noop, reporting, stragglers
from benchmarks.replay import fidelity as replay_fidelity
from benchmarks.replay import speed as replay_speed

LABEL = "CPU throughput, local storage, cached"
_WORKERS = (1, 2, 4)  # of the pipeline and its floor
_GB = 1e9
_HOUR = 3600.0


def main() -> None:
    """Measure in the order of the figures that others depend on."""
    parser = argparse.ArgumentParser(prog="make bench BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--scale", default="0.01", help="of the reference corpus (0.01 is about 450 MB raw)")
    parser.add_argument("--repeats", type=int, default=3, help="of each pipeline and floor run; the median counts")
    parser.add_argument("--pairs", type=int, default=5, help="of one and two single-slot workers; the median counts")
    parser.add_argument("--mbox-gb", type=float, default=2.0, help="size of the mail store for the slot's memory")
    parser.add_argument("--output", type=Path, default=Path("bench.json"))
    arguments = parser.parse_args()
    figures = Figures(arguments.output)
    print(f"{demo.machine()}; {LABEL}; medians of {arguments.repeats}\n", flush=True)
    demo.measure(figures)  # first, while nothing else has filled a cache
    _record_cost(figures)
    for name, figure in wait_cost.measure().items():
        figures.add(name, figure)
    for name, measured in replay_speed.measure().items():
        figures.add(name, Figure(**measured))
    rows = set_up.measure()
    set_up.show(figures.console, rows)
    figures.add("set_up_steps", Figure(value=sum(row[1] for row in rows), unit="steps"))
    figures.add("set_up_s", Figure(value=sum(row[2] for row in rows), unit="s", note="clone to removal, small corpus"))
    with bench_home() as home:
        _index_engines(figures, home)
        _filer(figures, home)
    with bench_home() as home:
        corpus = _generator(figures, home, arguments.scale)
        _generator_formats(figures)
        _pipeline(figures, home, corpus, arguments.repeats)
        _second_worker(figures, home, corpus, arguments.pairs)
        _ledger(figures, home, corpus)
        _live_cost(figures, home, corpus, arguments.repeats)
        _trace_cost(figures, home, corpus, arguments.repeats)
        _box_cost(figures, home, corpus, arguments.repeats)
    with bench_home() as home:
        _timeline(figures, home)
    with bench_home() as home:
        _reporting(figures, home)
    with bench_home() as home:
        rate = noop.measure(home.directory)
        figures.add("noop_tasks", Figure(value=rate, unit="tasks/s", target=300, note="2 workers × 4 slots"))
    with bench_home() as home:
        _dispatcher(figures, home)
    with bench_home() as home:
        _slot_memory(figures, home, arguments.mbox_gb)
    with bench_home() as home:
        _stragglers(figures, home)
    with bench_home() as home:
        _export(figures, home)
    with bench_home() as home:
        _imaging(figures, home)
    review.measure(figures)
    print()
    figures.show()


def _export(figures: Figures, home: BenchHome) -> None:
    done = export.measure(home)
    figures.add("export", Figure(value=done.percent, unit="% of a copy", target=50, note=export.told(done)))


def _imaging(figures: Figures, home: BenchHome) -> None:
    done = imaging.measure(home)
    figures.add(
        "imaging", Figure(value=done.percent, unit="% of renderer and encoder", target=70, note=imaging.told(done))
    )


def _record_cost(figures: Figures) -> None:
    for name, measured in record_cost.measure().items():
        at_most = measured["target"] is not None
        figures.add(
            name,
            Figure(
                value=measured["value"],
                unit=measured["unit"],
                target=measured["target"],
                at_most=at_most,
                note=measured["note"],
            ),
        )


def _filer(figures: Figures, home: BenchHome) -> None:
    corpus = home.directory / "small"
    home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", "0.001", "--seed", "1")
    for name, measured in {**filer.measure(home, corpus), **replay_fidelity.measure(home)}.items():
        figures.add(name, Figure(**measured))


def _live_cost(figures: Figures, home: BenchHome, corpus: Path, repeats: int) -> None:
    cost = live_cost.measure(home, corpus, repeats)
    pairs = ", ".join(f"{on:.1f} : {off:.1f}" for on, off in cost.pairs)
    note = f"processor seconds of a run on : off {pairs}; on: recording, observing, and a page looking each second"
    figures.add("live_cost", Figure(value=cost.percent, unit="% of CPU seconds", target=3, at_most=True, note=note))


def _trace_cost(figures: Figures, home: BenchHome, corpus: Path, repeats: int) -> None:
    cost = trace_cost.measure(home, corpus, repeats)
    pairs = ", ".join(f"{on:.1f} : {off:.1f}" for on, off in cost.pairs)
    note = f"processor seconds of a run with --trace : without {pairs}; {cost.calls:,} calls, {cost.lost} lost"
    figures.add("trace_cost", Figure(value=cost.percent, unit="% of CPU seconds", target=2, at_most=True, note=note))
    size = cost.bytes_per_million / 1e6
    figures.add("trace_size", Figure(value=size, unit="MB per million calls", note="of that job's trace file"))


def _box_cost(figures: Figures, home: BenchHome, corpus: Path, repeats: int) -> None:
    cost = box_cost.measure(home, corpus, repeats)
    pairs = ", ".join(f"{on:.1f} : {off:.1f}" for on, off in cost.pairs)
    note = f"processor seconds of a run in boxes : in the slots {pairs}; of them {cost.start_s:.1f} s once, to load"
    figures.add("box_cost", Figure(value=cost.percent, unit="% of items/s", target=10, at_most=True, note=note))


def _timeline(figures: Figures, home: BenchHome) -> None:
    measured = timeline.measure(home.directory)
    what = f"an hour, {timeline.WORKERS} workers, {timeline.OPS} ops, {measured.bytes / 1000:.0f} kB of JSON"
    figures.add("timeline_hour", Figure(value=measured.whole_ms, unit="ms", target=200, at_most=True, note=what))
    figures.add("timeline_increment", Figure(value=measured.increment_ms, unit="ms", note="once a second after that"))


def _reporting(figures: Figures, home: BenchHome) -> None:
    measured = reporting.measure(home.directory)
    shares = f"broker {measured.broker:.1%}, queue manager {measured.collector:.1%}, PostgreSQL beside {measured.databases:.1%}"
    note = f"{reporting.WORKERS} workers reporting once a second: {shares}; {measured.waiting} frames waited at the end"
    value = (measured.broker + measured.collector) * 100
    figures.add("reporting", Figure(value=value, unit="% of one core", target=10, at_most=True, note=note))


def _index_engines(figures: Figures, home: BenchHome) -> None:
    for engine, measured in index_engines.measure(home.directory).items():
        note = f"of text, one process; index is {measured['expansion']:.2f} of the text's bytes"
        figures.add(f"index_{engine}", Figure(value=measured["mb_per_s"], unit="MB/s", note=note))


def _generator(figures: Figures, home: BenchHome, scale: str) -> Path:
    corpus = home.directory / "corpus"
    start = time.monotonic()
    home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", scale, "--seed", "1")
    seconds = time.monotonic() - start
    size = sum(p.stat().st_size for p in (corpus / "data").rglob("*") if p.is_file())
    note = f"{size / 1e6:.0f} MB raw, all processes"
    figures.add("generator", Figure(value=size / 1e6 / seconds, unit="MB/s", target=60, note=note))
    return corpus


def _generator_formats(figures: Figures) -> None:
    """Each format on its own, the slowest first."""
    for name, rate in sorted(generator.measure_formats().items(), key=lambda pair: pair[1]):
        key = name.replace(": ", "_").replace("-", "_")
        figures.add(f"generator_{key}", Figure(value=rate, unit="MB/s", note="one process"))


def _pipeline(figures: Figures, home: BenchHome, corpus: Path, repeats: int) -> None:
    """Pipeline and floor in turn, so that a machine that slows down slows both."""
    ratios: dict[int, list[float]] = {workers: [] for workers in _WORKERS}
    results: dict[tuple[int, int], list[dict[str, float]]] = {}
    floors: dict[int, list[float]] = {workers: [] for workers in _WORKERS}
    for _ in range(repeats):
        for workers in _WORKERS:
            plain = floor.measure(corpus, home.directory / "floor", workers * 4)
            floors[workers].append(plain.discovered_bytes / _GB / plain.seconds * _HOUR)
            for passes in (2, 1):
                options = ["--workers", str(workers), *(["--single-pass"] if passes == 1 else [])]
                result = home.discover(corpus, *options)
                results.setdefault((workers, passes), []).append(result)
                home.run("job", "delete", str(result["job_id"]))
                if passes == 2:
                    ratios[workers].append(plain.seconds / float(result["elapsed_s"]))
    for (workers, passes), runs in sorted(results.items()):
        _job_figures(figures, f"pipeline_{workers}w_{passes}pass", runs, two_pass_of_two=(workers, passes) == (2, 2))
    for workers in _WORKERS:
        note = f"{workers * 4} processes, two passes, no framework; {LABEL}"
        value = statistics.median(floors[workers])
        figures.add(f"floor_{workers}w", Figure(value=value, unit="GB/hour discovered", note=note))
        note = "pipeline over floor, two-pass, pairs of one run each"
        value = statistics.median(ratios[workers])
        figures.add(f"ratio_to_floor_{workers}w", Figure(value=value, unit="", target=0.9, note=note))
    elapsed = {workers: [float(run["elapsed_s"]) for run in results[workers, 2]] for workers in _WORKERS}
    best = min(_WORKERS, key=lambda workers: statistics.median(elapsed[workers]))
    most = _WORKERS[-1]
    value = statistics.median(b / m for b, m in zip(elapsed[best], elapsed[most], strict=True))
    note = f"{most} workers over the best number, which is {best}; two-pass, pairs of one run each; {LABEL}"
    figures.add("workers_most_over_best", Figure(value=value, unit="", target=0.95, note=note))


def _job_figures(figures: Figures, name: str, runs: list[dict[str, float]], *, two_pass_of_two: bool) -> None:
    def median(key: str) -> float:
        return statistics.median(float(run[key]) for run in runs)

    raw = Figure(value=median("gb_per_hour_raw"), unit="GB/hour raw", note=LABEL)
    figures.add(f"{name}_raw", raw)
    target = 60 if two_pass_of_two else None
    discovered = Figure(value=median("gb_per_hour_discovered"), unit="GB/hour discovered", target=target, note=LABEL)
    figures.add(f"{name}_discovered", discovered)
    target = 220 if two_pass_of_two else None
    figures.add(f"{name}_items", Figure(value=median("items_per_second"), unit="items/s", target=target, note=LABEL))


def _second_worker(figures: Figures, home: BenchHome, corpus: Path, pairs: int) -> None:
    ratios, elapsed = [], []
    for _ in range(pairs):
        seconds = {}
        for workers in (1, 2):
            result = home.discover(corpus, "--workers", str(workers), "--slots", "1")
            home.run("job", "delete", str(result["job_id"]))
            seconds[workers] = float(result["elapsed_s"])
        ratios.append(seconds[1] / seconds[2])
        elapsed.append(f"{seconds[1]:.1f} s : {seconds[2]:.1f} s")
    note = f"one slot a worker, no emulated filer, median of {pairs} pairs; {', '.join(elapsed)}; {LABEL}"
    value = statistics.median(ratios)
    figures.add("second_worker", Figure(value=value, unit="x of 1 worker", target=1.5, note=note))


def _ledger(figures: Figures, home: BenchHome, corpus: Path) -> None:
    measured = ledger_share.measure(home, corpus)
    note = f"{measured.tasks} tasks x {measured.task_cpu_ms:.2f} ms of a no-op task, over {measured.job_cpu_s:.1f} CPU seconds"
    figure = Figure(value=measured.share * 100, unit="% of CPU seconds", target=3, at_most=True, note=note)
    figures.add("ledger_share", figure)


def _stragglers(figures: Figures, home: BenchHome) -> None:
    tail = stragglers.measure(home)
    note = (
        f"{tail.between_s:.1f} s from the first of {tail.slots} slots to the last, of {tail.elapsed_s:.1f} s elapsed;"
    )
    note += " 1 GB mbox in 1.5 GB raw"
    figure = Figure(value=tail.share * 100, unit="% of elapsed", target=10, at_most=True, note=note)
    figures.add("straggler_tail", figure)


def _dispatcher(figures: Figures, home: BenchHome) -> None:
    measured = dispatcher.measure(home.directory)
    note = f"marked and sent by the queue manager alone, {dispatcher.SLOTS} slots that take no time"
    few, many = f"{dispatcher.FEW:,} tasks pending", f"{dispatcher.MANY:,} tasks pending"
    figures.add("dispatcher", Figure(value=measured.few_rate, unit="tasks/s", target=1_500, note=f"{note}, {few}"))
    figures.add(
        "dispatcher_million", Figure(value=measured.many_rate, unit="tasks/s", target=1_500, note=f"{note}, {many}")
    )
    value = measured.many_rate / measured.few_rate
    figures.add(
        "dispatcher_slowdown", Figure(value=value, unit="", target=0.9, note=f"rate with {many} over with {few}")
    )
    memory = Figure(
        value=measured.memory_bytes / 1e6, unit="MB", target=300, at_most=True, note=f"resident, queue manager, {many}"
    )
    figures.add("dispatcher_memory", memory)


def _slot_memory(figures: Figures, home: BenchHome, gigabytes: float) -> None:
    source = home.directory / "source" / "custodian"
    source.mkdir(parents=True)
    messages = mbox.write_mbox(source / "big.mbox", int(gigabytes * _GB))
    result, peak = home.peak_slot(source.parent, "--workers", "1")
    note = f"PSS of the largest of 4 slots, one mbox of {gigabytes:g} GB, {messages} messages, {result['items']} items"
    figures.add("slot_memory", Figure(value=peak / 1e6, unit="MB", target=512, at_most=True, note=note))


if __name__ == "__main__":
    main()
