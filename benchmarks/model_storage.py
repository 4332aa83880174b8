"""`make bench-model-storage BENCH_ARGS=DIR`: the capacity model against runs on real storage, mounted at DIR, whose service times
nobody told. Calibrates on 1 and 2 workers, writes predictions down, and only then makes the runs that they predict."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.bench_home import BenchHome, bench_home
from benchmarks.foretold import Row, judge, phases_told, show, write_down
from benchmarks.model import Unpaired
from controller.jobs.jobs import prepare_source
from core.clock import SystemClock
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


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What is predicted, then measured; every worker has one slot."""

    databases: int
    workers: int

    def __str__(self) -> str:
        databases = f", {self.databases} databases" if self.databases > 1 else ""
        return f"{self.workers} workers{databases}"


TARGETS = (Target(1, 3), Target(1, 4), Target(1, 6), Target(1, 8), Target(2, 2), Target(2, 4), Target(2, 6))


class Bench:
    """Runs on that storage: the corpus and everything that is written lie there, databases do not."""

    def __init__(self, home: BenchHome, corpus: Path, storage: Path) -> None:
        self._home, self._corpus, self._storage = home, corpus, storage

    def run(self, plan: Grid) -> Result:
        """A study; what it says of its progress is left out."""
        env = self._home.environment() | {"EDBENCH_SLOTS": "1", "EDBENCH_STORAGE": str(self._storage)}
        load = Load(
            options=JobOptions(),
            shard=False,
            copies=False,
            cold=False,
            env=env,
            clock=SystemClock(),
            show=lambda *_: None,
            say=lambda line: print(f"  {line}", flush=True),
        )
        source = prepare_source(Storage(NullRecorder()), self._corpus)
        return of_discovery(
            conduct(
                Discovery(read_settings(env), source, load, Unpaired(read_settings(env), self._corpus, env, load.say)),
                plan,
                1.0,
            )[0]
        )

    def measure(self, target: Target, repeats: int, seed: int) -> tuple[Run, ...]:
        """Every run of it."""
        base = PointSpec(1, target.workers, 1)
        if target.databases == 1:
            plan = scale_up(base, [target.workers], repeats=repeats, seed=seed)
        else:
            plan = scale_out(base, [target.databases], repeats=repeats, seed=seed)
        return self.run(plan).points[0].repeats


def predictions(result: Result, targets: Sequence[Target]) -> dict[str, Prediction]:
    """Everything before anything of it is measured; all on this host."""
    # Whether this host or the storage is the limit does not matter: it is asked about both together.
    predictor = Predictor(calibrate(result, "the calibration", filer_given=True), filer_changed=False)
    return {
        str(target): predictor(Question(workers=target.workers, databases=target.databases, slots=1, one_host=True))
        for target in targets
    }


def main() -> None:
    """Calibrate, predict, write down, measure, compare."""
    parser = argparse.ArgumentParser(prog="make bench-model-storage BENCH_ARGS=…", description=__doc__)
    parser.add_argument("directory", type=Path, help="on the storage; a directory of its own is made in it and removed")
    parser.add_argument("--corpus-scale", default="0.001", help="of the reference corpus")
    parser.add_argument("--repeats", type=int, default=2, help="of each run of the calibration")
    parser.add_argument("--target-repeats", type=int, default=1, help="of each predicted run; the median counts")
    parser.add_argument("--targets", type=int, default=len(TARGETS), help="only so many of the predicted runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("bench-model-storage.json"))
    arguments = parser.parse_args()
    targets, console = TARGETS[: arguments.targets], Console(highlight=False, width=200)
    console.print(
        f"{os.cpu_count()} cores; {arguments.directory}; {arguments.repeats} and {arguments.target_repeats} x"
    )
    place = Path(tempfile.mkdtemp(prefix="edbench-model-", dir=arguments.directory))
    place.chmod(0o711)
    try:
        with bench_home() as home:
            _carry_out(home, place, targets, arguments, console)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _carry_out(
    home: BenchHome, place: Path, targets: Sequence[Target], arguments: argparse.Namespace, console: Console
) -> None:
    corpus = place / "corpus"
    home.run(
        "corpus", "generate", str(corpus), "--profile", "reference", "--scale", arguments.corpus_scale, "--seed", "7"
    )
    bench = Bench(home, corpus, place / "storage")
    result = bench.run(scale_up(PointSpec(1, 1, 1), [1, 2], repeats=arguments.repeats, seed=arguments.seed))
    predicted = predictions(result, targets)
    file = arguments.output.with_suffix(".predictions.json")
    console.print(f"predictions: {file}, sha256 {write_down(file, predicted)}")
    rows = []
    for target in targets:
        runs = bench.measure(target, arguments.target_repeats, arguments.seed)
        rows.append(Row(target=str(target), predicted=predicted[str(target)], runs=runs, judged=False))
        show(console, rows[-1:])
        console.print(f"  {phases_told(rows[-1])}")
    show(console, rows)
    judge(arguments.output, "storage", rows)


if __name__ == "__main__":
    main()
