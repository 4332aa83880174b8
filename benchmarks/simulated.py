"""Accuracy of the simulator: real discoveries on emulated filers, predicted from those with 1 and 2 workers.

`make bench-simulate`. Prints predicted and measured seconds for each number of workers, and the error; runs with more
than 2 workers are not used for the prediction. Does the same for the file systems of docs/dev/results, whose packages
have runs of 1, 2 and 4 workers. Then prints the effect of doubling a resource, for two resources also in real runs."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.filer.model import PROFILES, FilerModel, load_filer
from simulate.answer import calibrated
from simulate.demands import PHASES, WAIT, Calibration, Demands, cores_of, shipped
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import Case, run_case
from simulate.site import Unit, emulated_site

_CORES = os.cpu_count() or 1
_SLOTS = 2  # few, so that a small machine has cores for 8 workers
_KNOWN = 2  # workers: more are predicted
_REPEATS = 3  # of runs of seconds; of those on the slow filer one
_PROFILE, _SCALE, _SEED = "reference", 0.002, 1
_WAITS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_DOUBLED, _AT = "titan", 4  # filer and workers of which resources are doubled
_PACKAGES = Path(__file__).parents[1] / "docs" / "dev" / "results" / "packages"
_REAL = ("moosefs", "moosefs-200mbit", "glusterfs", "xfs", "ext4", "btrfs", "tmpfs")
_SERVICES_US = (0, 20, 50, 100, 150, 200, 300, 400, 500, 700, 900, 1200)  # of an op of a file system's one server
_REAL_WAITS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)


class Runs:
    """Real discoveries of a small corpus. Their results are kept in a directory, and existing ones are not measured
    again."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory

    def of(self, filer: str, workers: str, slots: int = _SLOTS, name: str = "") -> dict[str, Any]:
        """Return the result with these numbers of workers; `filer`: a name or a file."""
        corpus, out = self._directory / "corpus", self._directory / f"{name or filer}.json"
        edbench = [sys.executable, "-m", "cli"]
        if not out.exists():
            if not corpus.exists():
                subprocess.run([*edbench, "corpus", "generate", corpus, "--profile", _PROFILE, "--scale", f"{_SCALE}", "--seed", f"{_SEED}"], check=True)  # fmt: skip
            repeats = 1 if _DOUBLED in filer else _REPEATS
            options = ["--workers", workers, "--slots", f"{slots}", "--repeats", f"{repeats}", "--no-baseline", "--filer", filer]  # fmt: skip
            command: list[str | Path] = [*edbench, "bench", "scale-up", "--corpus", corpus, *options, "--storage", self._directory / "storage", "-o", "json", "--output-file", out]  # fmt: skip
            subprocess.run(command, check=True, env=os.environ | {"EDBENCH_SCRATCH": f"{self._directory / 'scratch'}"})
        return dict(json.loads(out.read_text(encoding="utf-8")))

    def twice(self, filer: str) -> Path:
        """Write a file of the filer with units and link that are twice as fast, and return it."""
        path = self._directory / f"{filer}-twice.toml"
        text = (PROFILES / f"{filer}.toml").read_text(encoding="utf-8")
        for line, other in ((f'name = "{filer}"', f'name = "{path.stem}"'), ("scale = 1.0", "scale = 0.5")):
            assert text.count(line) == 1, line
            text = text.replace(line, other)
        path.write_text(text)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A simulated filer, with the demands of jobs computed from the runs with 1 and 2 workers."""

    plan: Plan
    demands: Demands
    filer: FilerModel

    def elapsed_s(self, workers: int, *, slots: int = _SLOTS, cores: int = _CORES, network: int = 1) -> float:
        """Predict the elapsed seconds; `network`: factor of the network's speed."""
        site = emulated_site(
            self.filer, cores=cores, slots=slots, others=self.demands.others, crowding=self.demands.crowding
        )
        site = dataclasses.replace(site, bytes_per_s=network * site.bytes_per_s)
        case = Case(workers=workers, databases=1)
        return run_case(site, case, self.plan, self.demands, chunk=1)[0].elapsed_s


def model_of(filer: str, result: Mapping[str, Any], calibration: Calibration, plan: Plan) -> Model:
    """Fit a model to the known points of a result. The slots' waits for anything but filer, cores and databases are the
    calibration's times a factor, chosen so that these points take the measured time."""
    known = {**result, "points": [point for point in result["points"] if point["at"]["workers"] <= _KNOWN]}
    demands, found = calibrated(calibration, known, plan, "the runs of 1 and 2 workers"), load_filer(filer)
    assert found is not None
    models = [Model(plan=plan, demands=_waiting(demands, times), filer=found) for times in _WAITS]
    counts = [point["at"]["workers"] for point in known["points"]]

    def miss(model: Model) -> float:
        return abs(sum(math.log(model.elapsed_s(workers) / _took(result, workers)[0]) for workers in counts))

    return min(models, key=miss)


def _waiting(demands: Demands, times: float) -> Demands:
    def more(of: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        return {phase: {**each, WAIT: each[WAIT] * times} for phase, each in of.items()}

    return dataclasses.replace(demands, each_task=more(demands.each_task), each_slot=more(demands.each_slot))


def _took(result: Mapping[str, Any], workers: int) -> tuple[float, float]:
    """Return the measured seconds of a point, the median of its runs, and the mean number of slots that waited for a
    core: if that is high, other programs used the machine."""
    runs = next(point["repeats"] for point in result["points"] if point["at"]["workers"] == workers)
    elapsed_s = statistics.median(float(run["elapsed_s"]) for run in runs)
    return elapsed_s, statistics.median(run["run_queue_s"] / run["elapsed_s"] for run in runs)


def compared(filer: str, model: Model, result: Mapping[str, Any]) -> list[float]:
    """Print predicted and measured seconds of each point; return the errors of the predicted ones."""
    errors = []
    for workers in (point["at"]["workers"] for point in result["points"]):
        (took, waited), predicted = _took(result, workers), model.elapsed_s(workers)
        print(f"{filer:10s} {workers:7d} {predicted:21.2f} {took:11.2f} {predicted / took - 1:+7.1%}  {waited:.1f} s/s", flush=True)  # fmt: skip
        errors += [abs(predicted / took - 1)] if workers > _KNOWN else []
    return errors


def real(name: str, calibration: Calibration) -> None:
    """Predict 4 workers on a file system from its runs with 1 and 2. The file system is simulated as one server, with a
    time for each filer op, and waits that do not depend on the load; the values that fit the known runs best are
    used."""
    known, more = (_packaged(_PACKAGES / name / f"{part}.tar.xz") for part in ("discovery-1-2", "discovery-4"))
    corpus = known["conditions"]["corpus"]
    plan = plan_of(corpus["profile"], corpus["scale"], corpus["seed"], contents_of_plain(calibration.contents))
    demands, any_filer = calibrated(calibration, known, plan, "the runs of 1 and 2 workers"), load_filer("nas-10g")
    assert any_filer is not None
    like = emulated_site(
        any_filer, cores=cores_of(known["conditions"]), slots=1, others=demands.others, crowding=demands.crowding
    )
    alike = dict.fromkeys(PHASES, 1.0)

    def elapsed_s(service_us: float, times: float, workers: int) -> float:
        site = dataclasses.replace(
            like, emulated=None, fsa=Unit(servers=1, service_us=service_us, change_us=service_us), bytes_per_s=0.0,
            fsb=Unit(servers=1, service_us=0.0, change_us=0.0), ghz_seconds=alike, database_ghz_seconds=alike,
        )  # fmt: skip
        return run_case(site, Case(workers=workers, databases=1), plan, _waiting(demands, times), chunk=1)[0].elapsed_s

    took = {
        point["at"]["workers"]: statistics.median(run["elapsed_s"] for run in point["repeats"])
        for point in (*known["points"], *more["points"])
    }

    def miss(one: tuple[float, float]) -> float:
        return sum(abs(math.log(elapsed_s(*one, workers) / took[workers])) for workers in (1, 2))

    found = min(itertools.product(_SERVICES_US, _REAL_WAITS), key=miss)
    for workers, measured in sorted(took.items()):
        predicted = elapsed_s(*found, workers)
        print(
            f"{name:15s} {workers:2d} {predicted:21.2f} {measured:11.2f} {predicted / measured - 1:+7.1%}", flush=True
        )


def _packaged(path: Path) -> dict[str, Any]:
    """Return the result in a package."""
    with tarfile.open(path) as archive:
        file = archive.extractfile(next(one for one in archive if one.name.endswith("/result.json")))
        assert file is not None
        return dict(json.load(file))


def sensitivity(runs: Runs, model: Model, result: Mapping[str, Any]) -> None:
    """Print the effect of doubling each resource in the simulation, and in real runs."""
    twice = runs.twice(_DOUBLED)
    faster = load_filer(f"{twice}")
    assert faster is not None
    slots = runs.of(_DOUBLED, f"{_AT}", 2 * _SLOTS, f"{_DOUBLED}-slots")
    fast = runs.of(f"{twice}", f"{_AT}", name=f"{_DOUBLED}-twice")
    table = (
        ("workers", model.elapsed_s(2 * _AT), _took(result, 2 * _AT)[0]),
        ("slots", model.elapsed_s(_AT, slots=2 * _SLOTS), _took(slots, _AT)[0]),
        ("speed of the filer", dataclasses.replace(model, filer=faster).elapsed_s(_AT), _took(fast, _AT)[0]),
        ("cores", model.elapsed_s(_AT, cores=2 * _CORES), math.nan),
        ("network", model.elapsed_s(_AT, network=2), math.nan),
    )
    simulated, took = model.elapsed_s(_AT), _took(result, _AT)[0]
    print(f"{_DOUBLED}, {_AT} workers, twice the …     simulated: times as fast   measured")
    for what, predicted, measured in table:
        print(f"{what:37s} {simulated / predicted:26.2f} {took / measured:10.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filers", nargs="+", default=["nas-1g", "nas-10g", "titan"], help="measure on these")
    parser.add_argument("--workers", default="1,2,4,8", help="measure with these numbers of workers")
    parser.add_argument("--work", type=Path, help="keep results in this directory; those in it are not measured again")
    args = parser.parse_args()
    calibration = shipped()
    contents = contents_of_plain(calibration.contents)
    plan = plan_of(_PROFILE, _SCALE, _SEED, contents)
    print("filer      workers  elapsed: predicted s  measured s   error  waiting for a core")
    errors: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        runs = Runs(args.work or Path(directory))
        for filer in args.filers:
            result = runs.of(filer, args.workers)
            model = model_of(filer, result, calibration, plan)
            errors += compared(filer, model, result)
            if filer == _DOUBLED and {_AT, 2 * _AT} <= {point["at"]["workers"] for point in result["points"]}:
                sensitivity(runs, model, result)
    for name in _REAL:
        real(name, calibration)
    if errors:
        print(f"elapsed of more than {_KNOWN} workers: median error {statistics.median(errors):.1%}, worst {max(errors):.1%}; goal 5 % and 15 %")  # fmt: skip


if __name__ == "__main__":
    main()
