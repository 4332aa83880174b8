"""`make bench-model`: the capacity model against runs. Calibrates on 1 and 2 workers, writes predictions to a file, and
only then makes the runs that they predict. Prints predicted, interval, measured, error, and the errors of simpler laws."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.bench_home import BenchHome, bench_home
from benchmarks.figures import Figure, Figures
from benchmarks.reference import write_reference
from benchmarks.rivals import amdahl, straight_line
from controller.jobs.jobs import prepare_source
from core.clock import SystemClock
from core.filer import FilerModel, load_filer
from core.operations import NullRecorder
from core.records import JobOptions
from core.settings import read_settings
from core.storage.layer import Storage
from experiments.capacity.assemble import Question
from experiments.capacity.calibration import calibrate
from experiments.capacity.predict import LEVEL, Prediction, Predictor, point_document
from experiments.kinds.grid import Grid
from experiments.kinds.scale_out import scale_out
from experiments.kinds.scale_up import scale_up
from experiments.study import conduct
from experiments.workloads.discovery.crew_site import CrewSite
from experiments.workloads.discovery.result import PointSpec, Result, of_discovery
from experiments.workloads.discovery.run_point import Load
from experiments.workloads.discovery.workload import Discovery

BASE, FEW, THIN = "base", "few-metadata", "thin-link"  # the calibrated filer, and two that were never seen
WITHIN = 10.0  # per cent
_PROFILE = """name = "model-{name}"
description = "of the capacity model's benchmark"
scale = {scale}
[metadata]
servers = {metadata}
service_us.default = 270.8
[data]
servers = 8
service_us.default = 492.3
[link]
bytes_per_s = {link}
[disk]
read_ms = 4.0
read_miss = 0.10
write_ms = 20.0
write_miss = 0.02
[mix]
scan = 0.04
stat = 0.065
open = 0.17
create = 0.11
close = 0.25
rename = 0.08
mkdir = 0.035
read = 0.17
write = 0.08
"""
_NUMBERS = {BASE: (8, 375e6), FEW: (2, 375e6), THIN: (8, 187.5e6)}  # metadata servers, link in bytes/s


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What is predicted, then measured; every worker has one slot."""

    filer: str
    databases: int
    workers: int

    def __str__(self) -> str:
        databases = f", {self.databases} databases" if self.databases > 1 else ""
        return f"{self.filer}: {self.workers} workers{databases}"


TARGETS = (
    *(Target(BASE, d, w) for d in (1, 2) for w in (4, 8)),
    *(Target(FEW, 1, w) for w in (2, 4, 8)),
    *(Target(THIN, 1, w) for w in (4, 8)),
    Target(FEW, 2, 8),
)


class Unpaired(CrewSite):
    """Without the runs on null storage, which a prediction has no use for."""

    def no_null(self) -> str | None:
        return "the benchmark pairs nothing"


class Bench:
    """A corpus, filers, and experiments over them."""

    def __init__(self, home: BenchHome, corpus: Path, scale: float) -> None:
        self._home, self._corpus = home, corpus
        self.filers = {name: self._filer(name, scale) for name in _NUMBERS}

    def _filer(self, name: str, scale: float) -> FilerModel:
        file = self._home.directory / f"{name}.toml"
        servers, link = _NUMBERS[name]
        file.write_text(_PROFILE.format(name=name, scale=scale, metadata=servers, link=link))
        model = load_filer(str(file))
        assert model is not None
        return model

    def run(self, plan: Grid, filer: str) -> Result:
        """Its result; what it says of its progress is left out."""
        env = self._home.environment() | {"EDBENCH_SLOTS": "1"}
        settings = replace(read_settings(env), filer=self.filers[filer].source)
        load = Load(
            options=JobOptions(),
            shard=False,
            copies=False,
            cold=False,
            env=env,
            clock=SystemClock(),
            show=lambda *_: None,
            say=lambda line: print(f"  {filer}: {line}", flush=True),
        )
        source = prepare_source(Storage(NullRecorder()), self._corpus)
        return of_discovery(
            conduct(Discovery(settings, source, load, Unpaired(settings, self._corpus, env, load.say)), plan)[0]
        )

    def measure(self, targets: Sequence[Target], repeats: int, seed: int) -> dict[Target, list[float]]:
        """Elapsed seconds of every run."""
        out: dict[Target, list[float]] = {}
        for filer, databases in dict.fromkeys((target.filer, target.databases) for target in targets):
            workers = [t.workers for t in targets if (t.filer, t.databases) == (filer, databases)]
            plans: list[Grid] = (
                [scale_up(PointSpec(1, 1, 1), workers, repeats=repeats, seed=seed)]
                if databases == 1
                else [scale_out(PointSpec(1, w, 1), [databases], repeats=repeats, seed=seed) for w in workers]
            )
            for point in (point for plan in plans for point in self.run(plan, filer).points):
                runs = [run.elapsed_s for run in point.repeats]
                out[Target(filer, point.databases, point.workers)] = runs
        return out


def predictions(bench: Bench, result: Result, targets: Sequence[Target]) -> dict[Target, Prediction]:
    """Everything before anything of it is measured."""
    calibration = calibrate(result, "the calibration", filer_given=True)
    predictors = {filer: Predictor(calibration, filer_changed=filer != BASE) for filer in _NUMBERS}
    return {
        target: predictors[target.filer](
            Question(
                workers=target.workers,
                databases=target.databases,
                slots=1,
                filer=bench.filers[target.filer],
                one_host=True,
            )
        )
        for target in targets
    }


def write_down(file: Path, predicted: dict[Target, Prediction]) -> str:
    """The predictions as JSON; the hash of the file."""
    plain = [{"filer": target.filer, **point_document(one).to_json()} for target, one in predicted.items()]
    file.write_text(json.dumps(plain, indent=1) + "\n")
    return hashlib.sha256(file.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One target; errors are per cent of what was measured."""

    target: Target
    predicted: Prediction
    measured_s: float
    amdahl_s: float
    line_s: float

    def error(self, seconds: float) -> float:
        return (seconds / self.measured_s - 1.0) * 100

    @property
    def held(self) -> bool:
        return self.predicted.elapsed_s.holds(self.measured_s)


def rows(result: Result, predicted: dict[Target, Prediction], measured: dict[Target, list[float]]) -> list[Row]:
    """With the simpler laws through the same two points, which know nothing of another filer."""
    one, two = ((point.workers, point.elapsed_s.median) for point in result.points[:2])
    laws = amdahl(one, two), straight_line(one, two)
    return [
        Row(
            target=target,
            predicted=prediction,
            measured_s=statistics.median(measured[target]),
            amdahl_s=laws[0].elapsed_s(target.workers, target.databases),
            line_s=laws[1].elapsed_s(target.workers, target.databases),
        )
        for target, prediction in predicted.items()
    ]


def show(console: Console, rows: Sequence[Row], measured: dict[Target, list[float]]) -> None:
    """One line a target."""
    names = ("target", "predicted s", f"{LEVEL:.0%} interval", "measured s", "error", "held", "limit", "Amdahl", "line")
    table = Table(*names, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        span = row.predicted.elapsed_s
        table.add_row(
            str(row.target),
            f"{span.value:.1f}",
            span.told("{:.1f}".format),
            " ".join(f"{seconds:.1f}" for seconds in measured[row.target]),
            f"{row.error(span.value):+.1f} %",
            "yes" if row.held else "NO",
            row.predicted.limit,
            f"{row.error(row.amdahl_s):+.0f} %",
            f"{row.error(row.line_s):+.0f} %",
        )
    console.print(table)


def markdown(rows: Sequence[Row]) -> list[str]:
    """The table of docs/dev/capacity-validation.md."""
    lines = ["| run | predicted | 90 % interval | measured | error | Amdahl | line |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        span = row.predicted.elapsed_s
        errors = [f"{row.error(each):+.1f} %" for each in (span.value, row.amdahl_s, row.line_s)]
        held = "" if row.held else " (missed)"
        cells = [
            str(row.target),
            f"{span.value:.1f} s",
            f"{span.told('{:.1f}'.format)} s{held}",
            f"{row.measured_s:.1f} s",
        ]
        lines.append(f"| {' | '.join([*cells, *errors])} |")
    return lines


def judge(figures: Figures, rows: Sequence[Row]) -> None:
    """The promises of the model."""

    def mean(errors: Sequence[float]) -> float:
        return statistics.fmean(abs(error) for error in errors)

    own = [row.error(row.predicted.elapsed_s.value) for row in rows]
    rivals = {
        "Amdahl": mean([row.error(row.amdahl_s) for row in rows]),
        "line": mean([row.error(row.line_s) for row in rows]),
    }
    note = f"{len(rows)} runs predicted beforehand; mean error {mean(own):.1f} %"
    worst = max(abs(error) for error in own)
    figures.add("model_worst_error", Figure(value=worst, unit="%", target=WITHIN, at_most=True, note=note))
    held = sum(row.held for row in rows)
    least = len(rows) - 2  # of 10 runs 90 % intervals hold 8 or more with a probability of 93 %
    figures.add("model_intervals", Figure(value=held, unit=f"of {len(rows)} held", target=least, note="90 % each"))
    for name, error in rivals.items():
        better = error / mean(own)
        note = f"mean error of {name} {error:.1f} %"
        figures.add(f"model_against_{name.lower()}", Figure(value=better, unit="x", target=1.0, note=note))


def main() -> None:
    """Calibrate, predict, write down, measure, compare."""
    parser = argparse.ArgumentParser(prog="make bench-model BENCH_ARGS=…", description=__doc__)
    parser.add_argument("--corpus-scale", default="0.001", help="of the reference corpus")
    parser.add_argument("--filer-scale", type=float, default=20.0, help="divides the emulated filer's ceilings")
    parser.add_argument("--repeats", type=int, default=2, help="of each run of the calibration")
    parser.add_argument("--target-repeats", type=int, default=1, help="of each predicted run; the median counts")
    parser.add_argument("--targets", type=int, default=len(TARGETS), help="only so many of the predicted runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("bench-model.json"))
    parser.add_argument(
        "--markdown", action="store_true", help="print the table of docs/dev/capacity-validation.md too"
    )
    parser.add_argument("--reference", type=Path, help="write the calibration there too, as the one that is shipped")
    arguments = parser.parse_args()
    targets = TARGETS[: arguments.targets]
    console = Console(highlight=False, width=170)
    console.print(
        f"{os.cpu_count()} cores; emulated filer; calibration {arguments.repeats} x, predicted runs {arguments.target_repeats} x"
    )
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
        bench = Bench(home, corpus, arguments.filer_scale)
        calibration = scale_up(PointSpec(1, 1, 1), [1, 2], repeats=arguments.repeats, seed=arguments.seed)
        result = bench.run(calibration, BASE)
        if arguments.reference is not None:
            write_reference(result, arguments.reference)
        predicted = predictions(bench, result, targets)
        file = arguments.output.with_suffix(".predictions.json")
        console.print(f"predictions: {file}, sha256 {write_down(file, predicted)}")
        measured = bench.measure(targets, arguments.target_repeats, arguments.seed)
        compared = rows(result, predicted, measured)
        show(console, compared, measured)
        if arguments.markdown:
            print("\n".join(markdown(compared)))
        figures = Figures(arguments.output)
        judge(figures, compared)
        _keep(arguments.output, compared, measured)


def _keep(file: Path, rows: Sequence[Row], measured: dict[Target, list[float]]) -> None:
    plain: dict[str, Any] = json.loads(file.read_text())
    plain["rows"] = [
        {"filer": row.target.filer, **point_document(row.predicted).to_json(), "measured_s": measured[row.target]}
        | {"amdahl_s": round(row.amdahl_s, 2), "line_s": round(row.line_s, 2)}
        for row in rows
    ]
    file.write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    main()
