"""`make bench-model-site`: the capacity model against runs on an emulated site. Calibrates on 1 and 2 workers on it, writes down
what more workers, a second database, slower processors, fewer hosts and slower databases would do, and only then runs them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from benchmarks.bench_home import BenchHome, bench_home
from benchmarks.foretold import Row, judge, phases_told, show, write_down
from benchmarks.model import Unpaired
from controller.jobs.jobs import prepare_source
from core.clock import SystemClock
from core.filer import FilerModel, load_filer
from core.filer.load import site_source
from core.operations import NullRecorder
from core.records import JobOptions
from core.settings import read_settings
from core.storage.layer import Storage
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import calibrate
from experiments.capacity.predict import Prediction, Predictor
from experiments.kinds.grid import Grid
from experiments.kinds.scale_out import scale_out
from experiments.kinds.scale_up import scale_up
from experiments.study import conduct
from experiments.workloads.discovery.result import PointSpec, Result, Run, of_discovery
from experiments.workloads.discovery.run_point import Load
from experiments.workloads.discovery.workload import Discovery

SLOTS = 4
_FILER = """name = "model-filer"
scale = 4.0
[metadata]
servers = 4
service_us.default = 270.8
[data]
servers = 4
service_us.default = 492.3
[link]
bytes_per_s = 375e6
[disk]
read_ms = 4.0
read_miss = 0.10
write_ms = 20.0
write_miss = 0.02
"""
_SITE = """name = "model-{name}"
filer = "filer.toml"
time_scale = {times}
[processor]
factor = {factor}
[worker]
cores = 2
[[host]]
cores = {cores}
[[host]]
cores = {cores}
[[database]]
servers = 4
speed = 1.0
transaction_us = {transaction}
row_us = {row}
filer_ops = 2.0
filer_ops_a_row = 0.5
[[database]]
servers = 2
speed = 0.6
transaction_us = {transaction}
row_us = {row}
filer_ops = 2.0
filer_ops_a_row = 0.5
"""
BASE = "base"
_NUMBERS = {  # processor factor, cores of each host, microseconds of a transaction and of a row
    BASE: (10.0, 4, 2000.0, 500.0),
    "slow-processors": (20.0, 4, 2000.0, 500.0),
    "few-cores": (10.0, 2, 2000.0, 500.0),
    "slow-databases": (10.0, 4, 8000.0, 8000.0),
}


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What is predicted, then measured."""

    site: str
    databases: int
    workers: int

    def __str__(self) -> str:
        databases = f", {self.databases} databases" if self.databases > 1 else ""
        return f"{self.site}: {self.workers} workers{databases}"


TARGETS = (
    Target(BASE, 1, 4),
    Target(BASE, 2, 4),
    Target("slow-processors", 1, 3),
    Target("few-cores", 1, 4),
    Target("slow-databases", 1, 4),
    Target("slow-databases", 2, 4),
    Target(BASE, 1, 6),
    Target("few-cores", 2, 4),
)


class Bench:
    """A corpus, sites, and runs on them."""

    def __init__(self, home: BenchHome, corpus: Path, times: float) -> None:
        self._home, self._corpus = home, corpus
        (home.directory / "filer.toml").write_text(_FILER)
        self.sites = {name: self._site(name, times) for name in _NUMBERS}

    def _site(self, name: str, times: float) -> FilerModel:
        file = self._home.directory / f"{name}.toml"
        factor, cores, transaction, row = _NUMBERS[name]
        file.write_text(
            _SITE.format(name=name, times=times, factor=factor, cores=cores, transaction=transaction, row=row)
        )
        model = load_filer(site_source(str(file)))
        assert model is not None
        return model

    def run(self, plan: Grid, site: str) -> Result:
        """A study on that site; what it says of its progress is left out."""
        env = self._home.environment() | {"EDBENCH_SLOTS": str(SLOTS)}
        settings = replace(read_settings(env), filer=self.sites[site].source)
        load = Load(
            options=JobOptions(),
            shard=False,
            copies=False,
            cold=False,
            env=env,
            clock=SystemClock(),
            show=lambda *_: None,
            say=lambda line: print(f"  {site}: {line}", flush=True),
        )
        source = prepare_source(Storage(NullRecorder()), self._corpus)
        return of_discovery(
            conduct(Discovery(settings, source, load, Unpaired(settings, self._corpus, env, load.say)), plan, 1.0)[0]
        )

    def measure(self, target: Target, repeats: int, seed: int) -> tuple[Run, ...]:
        """Every run of it."""
        base = PointSpec(1, target.workers, SLOTS)
        if target.databases == 1:
            plan = scale_up(base, [target.workers], repeats=repeats, seed=seed)
        else:
            plan = scale_out(base, [target.databases], repeats=repeats, seed=seed)
        return self.run(plan, target.site).points[0].repeats


def predictions(bench: Bench, result: Result, targets: Sequence[Target]) -> dict[str, Prediction]:
    """Everything before anything of it is measured."""
    calibration = calibrate(result, "the calibration", filer_given=True)
    predictors = {site: Predictor(calibration, filer_changed=site != BASE) for site in _NUMBERS}
    return {
        str(target): predictors[target.site](
            Question(workers=target.workers, databases=target.databases, slots=SLOTS, filer=bench.sites[target.site])
        )
        for target in targets
    }


def main() -> None:
    """Calibrate, predict, write down, measure, compare."""
    parser = argparse.ArgumentParser(prog="make bench-model-site BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--corpus-scale", default="0.001", help="of the reference corpus")
    parser.add_argument("--time-scale", type=float, default=1.0, help="everything takes so many times as long")
    parser.add_argument("--repeats", type=int, default=1, help="of each run; the median counts")
    parser.add_argument("--targets", type=int, default=len(TARGETS), help="only so many of the predicted runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("bench-model-site.json"))
    arguments = parser.parse_args()
    targets, console = TARGETS[: arguments.targets], Console(highlight=False, width=200)
    console.print(f"{os.cpu_count()} cores; emulated site, time x {arguments.time_scale:g}; {arguments.repeats} x each")
    with bench_home() as home:
        corpus = home.directory / "corpus"
        home.run(
            "corpus",
            "generate",
            str(corpus),
            "--profile",
            "reference",
            "--scale",
            arguments.corpus_scale,
            "--seed",
            "7",
        )
        bench = Bench(home, corpus, arguments.time_scale)
        first = scale_up(PointSpec(1, 1, SLOTS), [1, 2], repeats=arguments.repeats, seed=arguments.seed)
        result = bench.run(first, BASE)
        predicted = predictions(bench, result, targets)
        file = arguments.output.with_suffix(".predictions.json")
        console.print(f"predictions: {file}, sha256 {write_down(file, predicted)}")
        rows = []
        for target in targets:
            runs = bench.measure(target, arguments.repeats, arguments.seed)
            rows.append(Row(target=str(target), predicted=predicted[str(target)], runs=runs))
            show(console, rows[-1:])
            console.print(f"  {phases_told(rows[-1])}")
        show(console, rows)
        judge(arguments.output, "site", rows)


if __name__ == "__main__":
    main()
