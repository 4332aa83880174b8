"""Whether the simulator is true: real discoveries on emulated filers, predicted from those with 1 and 2 workers. `make bench-simulate`.

Prints predicted and measured seconds of each number of workers, and the error. Those with more workers than 2 are not used for the
prediction. Also prints what serving items in chunks changes, on report R1's site at scale 0.02.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.filer.model import load_filer
from simulate.answer import calibrated
from simulate.demands import Calibration, shipped
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import Case, run_case
from simulate.site import emulated_site, load_site
from simulate.tasks import FSA_S, FSB_S, NET_BYTES, WAIT_S, Task, jobs_of

_SLOTS = 2  # few, so that a small machine has cores for 8 workers
_KNOWN = 2  # workers: more are predicted
_PROFILE, _SCALE, _SEED = "reference", 0.002, 1
_FULL_CHUNK = 33.0  # items, of R1 at full scale


def measured(filer: str, workers: str, directory: Path) -> dict[str, Any]:
    """The result of real discoveries of a small corpus."""
    edbench, corpus, out = [sys.executable, "-m", "cli"], directory / "corpus", directory / f"{filer}.json"
    if not corpus.exists():
        subprocess.run([*edbench, "corpus", "generate", corpus, "--profile", _PROFILE, "--scale", f"{_SCALE}", "--seed", f"{_SEED}"], check=True)  # fmt: skip
    options = ["--workers", workers, "--slots", f"{_SLOTS}", "--repeats", "1", "--no-baseline", "--filer", filer]
    command = [*edbench, "bench", "scale-up", "--corpus", corpus, *options, "--storage", directory / "storage", "-o", "json", "--output-file", out]  # fmt: skip
    subprocess.run(command, check=True, env=os.environ | {"EDBENCH_SCRATCH": f"{directory / 'scratch'}"})
    return dict(json.loads(out.read_text(encoding="utf-8")))


def compare(filer: str, result: Mapping[str, Any], calibration: Calibration, plan: Plan) -> list[tuple[int, float, float, float, float, float]]:  # fmt: skip
    """Of each point: workers, predicted and measured seconds, predicted and measured seconds of service of the filer, and the
    seconds that slots waited for a processor in each of the run: much of it, and others used the machine."""
    model = load_filer(filer)
    assert model is not None
    known = {**result, "points": [point for point in result["points"] if point["at"]["workers"] <= _KNOWN]}
    demands = calibrated(calibration, known, plan, "the runs of 1 and 2 workers")
    site = emulated_site(model, cores=os.cpu_count() or 1, slots=_SLOTS)
    jobs = jobs_of(plan, demands, site, 0)
    asked = sum(_filer_s(task) for job in jobs for _, tasks in job.phases for task in tasks)
    asked += sum(_bytes(task) for job in jobs for _, tasks in job.phases for task in tasks) / site.bytes_per_s
    out = []
    for point in result["points"]:
        workers = point["at"]["workers"]
        run = point["repeats"][0]
        took, served = run["result"]["elapsed_s"], run["result"]["call_time"]["service_s"]
        row, _ = run_case(site, Case(workers=workers, databases=1), plan, demands, seed=_SEED, chunk=1)
        out.append((workers, row.elapsed_s, took, asked, served, run["run_queue_s"] / took))
    return out


def _filer_s(task: Task) -> float:
    return sum(task.demand[column] for column in (FSA_S, FSB_S, WAIT_S)) + sum(_filer_s(one) for one in task.follow)


def _bytes(task: Task) -> float:
    return task.demand[NET_BYTES] + sum(_bytes(one) for one in task.follow)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filers", nargs="+", default=["nas-1g", "nas-10g", "titan"], help="measure on these")
    parser.add_argument("--workers", default="1,2,4,8", help="measure with these numbers of workers")
    parser.add_argument("--results", type=Path, nargs="*", default=[], help="take these results, one for each filer")
    args = parser.parse_args()
    calibration = shipped()
    contents = contents_of_plain(calibration.contents)
    plan = plan_of(_PROFILE, _SCALE, _SEED, contents)
    print(
        "filer      workers  elapsed: predicted s  measured s   error   filer: predicted s  measured s   error  waiting for a processor"
    )
    errors = []
    with tempfile.TemporaryDirectory() as directory:
        for n, filer in enumerate(args.filers):
            given = args.results[n : n + 1]
            result = json.loads(given[0].read_text()) if given else measured(filer, args.workers, Path(directory))
            for workers, predicted, took, asked, served, waited in compare(filer, result, calibration, plan):
                print(f"{filer:10s} {workers:7d} {predicted:21.2f} {took:11.2f} {predicted / took - 1:+7.1%} {asked:20.2f} {served:11.2f} {asked / served - 1:+7.1%}  {waited:.1f} s/s", flush=True)  # fmt: skip
                errors += [abs(predicted / took - 1)] if workers > _KNOWN else []
    if errors:
        print(
            f"elapsed of more than {_KNOWN} workers: median error {statistics.median(errors):.1%}, worst {max(errors):.1%}; goal 5 % and 15 %"
        )
    r1, small = load_site("r1"), plan_of("r1", 0.02, _SEED, contents)
    alone, chunks = (
        run_case(r1, Case(workers=10, databases=1), small, calibration.demands, seed=_SEED, chunk=chunk)[0].elapsed_s
        for chunk in (1.0, _FULL_CHUNK)
    )
    print(f"R1 at scale 0.02, 10 workers: chunks of {_FULL_CHUNK:g} items {chunks / alone - 1:+.2%}")


if __name__ == "__main__":
    main()
