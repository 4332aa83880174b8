"""Fit the seven parameters of the site `r1` to the facts of report R1 that may be used for it: `make fit-r1`.

Rows A and B only, with the facts marked `fit`; row C and the facts marked `predict` are not computed here. A coarse search from a
seed, then Nelder-Mead over the logarithms of the parameters, at full scale. Writes the values into `simulate/sites/r1.toml`.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 - the directory above is where they are found
from core.records import Phase
from simulate.answer import R1_ROWS
from simulate.demands import shipped
from simulate.engine import Engine
from simulate.facts import Row, closeness, evaluate
from simulate.plan import contents_of_plain, plan_of
from simulate.simulation import row_of
from simulate.site import Site, load_site
from simulate.tasks import (
    COLUMNS,
    CPU,
    DATABASE,
    DATABASE_IO,
    FSA_OPS,
    FSA_S,
    FSB_OPS,
    JobLoad,
    Task,
    jobs_of,
)

FILE = ROOT / "simulate" / "sites" / "r1.toml"
# Name, key in the site's file, and the range that docs/reports.md argues for.
PARAMETERS = (
    ("expand_ghz_s", "cpu.expand", 30.0, 1500.0),
    ("index_ghz_s", "cpu.index", 30.0, 1500.0),
    ("expand_ops", "protocol.ops_per_call.expand", 3.0, 60.0),
    ("index_ops", "protocol.ops_per_call.index", 3.0, 120.0),
    ("fsa_us", "filer.fsa.service_us", 50.0, 500.0),
    ("fsb_us", "filer.fsb.service_us", 50.0, 1000.0),
    ("database_io", "database_load.io_per_row", 0.2, 10.0),
)


def with_values(site: Site, values: Sequence[float]) -> Site:
    """The site with these parameters; finalise and the database go with expand's CPU, and phase walk is as it was measured."""
    expand_cpu, index_cpu, expand_ops, index_ops, fsa, fsb, io = values
    change = site.fsa.change_us / site.fsa.service_us
    return dataclasses.replace(
        site,
        ghz_seconds={**site.ghz_seconds, "expand": expand_cpu, "index": index_cpu, "finalise": expand_cpu},
        database_ghz_seconds=expand_cpu,
        ops_per_call={**site.ops_per_call, "expand": expand_ops, "index": index_ops},
        fsa=dataclasses.replace(site.fsa, service_us=fsa, change_us=fsa * change),
        fsb=dataclasses.replace(site.fsb, service_us=fsb, change_us=fsb),
        database_io_per_row=io,
    )


def scaled(load: JobLoad, values: Sequence[float]) -> JobLoad:
    """The job, made for parameters that are all 1, with these: what tasks demand is proportional to them."""
    expand_cpu, index_cpu, expand_ops, index_ops, fsa, _, io = values
    phases = []
    for phase, tasks in load.phases:
        cpu = {Phase.EXPAND: expand_cpu, Phase.INDEX: index_cpu, Phase.FINALISE: expand_cpu}.get(phase, 1.0)
        ops = {Phase.EXPAND: expand_ops, Phase.INDEX: index_ops}.get(phase, 1.0)
        factors = [1.0] * COLUMNS
        factors[CPU], factors[DATABASE], factors[DATABASE_IO] = cpu, expand_cpu, io
        factors[FSA_OPS], factors[FSA_S], factors[FSB_OPS] = ops, ops * fsa, ops
        phases.append((phase, tuple(_scaled(task, factors) for task in tasks)))
    return dataclasses.replace(load, phases=tuple(phases))


def _scaled(task: Task, factors: Sequence[float]) -> Task:
    demand = [one * factor for one, factor in zip(task.demand, factors, strict=True)]
    return Task(task.weight, task.id, task.items, demand, tuple(_scaled(follow, factors) for follow in task.follow))


def fit(
    loss: Callable[[Sequence[float]], float], start: Sequence[float], steps: int, step: float = 0.15
) -> list[float]:
    """Nelder-Mead over logarithms; deterministic."""
    points = [[math.log(value) for value in start]]
    for n in range(len(start)):
        points.append([value + (step if n == m else 0.0) for m, value in enumerate(points[0])])
    scored = sorted((loss([math.exp(v) for v in point]), point) for point in points)
    count = len(scored)
    while count < steps:
        best, second, worst = scored[0][0], scored[-2][0], scored[-1]
        centre = [sum(point[n] for _, point in scored[:-1]) / len(start) for n in range(len(start))]

        def at(
            factor: float, centre: list[float] = centre, worst: tuple[float, list[float]] = worst
        ) -> tuple[float, list[float]]:
            point = [c + factor * (c - w) for c, w in zip(centre, worst[1], strict=True)]
            return loss([math.exp(v) for v in point]), point

        tried = at(1.0)
        count += 1
        if tried[0] < best:
            further = at(2.0)
            count += 1
            scored[-1] = min(tried, further)
        elif tried[0] < second:
            scored[-1] = tried
        else:
            inside = at(-0.5 if tried[0] >= worst[0] else 0.5)
            count += 1
            if inside[0] < worst[0]:
                scored[-1] = inside
            else:
                low = scored[0][1]
                scored = [scored[0]] + [
                    (loss([math.exp(v) for v in point]), point)
                    for point in ([(a + b) / 2 for a, b in zip(low, old, strict=True)] for _, old in scored[1:])
                ]
                count += len(start)
        scored.sort()
        print(f"{count:4d}  {scored[0][0]:.4f}  {[round(math.exp(v), 3) for v in scored[0][1]]}", flush=True)
    return [math.exp(v) for v in scored[0][1]]


def write(values: Sequence[float]) -> None:
    """Into the site's file; four significant digits."""
    text = FILE.read_text(encoding="utf-8")
    expand_cpu = values[0]
    also = {
        "cpu.finalise": expand_cpu,
        "database_load.ghz_seconds": expand_cpu,
    }
    for key, value in {**{key: v for (_, key, *_), v in zip(PARAMETERS, values, strict=True)}, **also}.items():
        table, _, name = key.rpartition(".")
        at = text.index(f"[{table}]")
        found = re.compile(rf"^{name} = \S+", re.M).search(text, at)
        assert found is not None, key
        text = f"{text[: found.start()]}{name} = {float(f'{value:.4g}')}{text[found.end() :]}"
    FILE.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=250, help="simulate so many sets of parameters")
    parser.add_argument("--coarse", type=int, default=60, help="and so many at random before")
    parser.add_argument("--seed", type=int, default=1, help="of the data set and the search")
    args = parser.parse_args()
    calibration = shipped()
    site = load_site("r1")
    plan = plan_of(site.profile, 1.0, args.seed, contents_of_plain(calibration.contents))

    made = jobs_of(plan, calibration.demands, with_values(site, [1.0] * len(PARAMETERS)), 0)

    def loss(values: Sequence[float]) -> float:
        if any(not low <= value <= high for value, (_, _, low, high) in zip(values, PARAMETERS, strict=True)):
            return 1e9
        rows: dict[str, Row] = {}
        loads = [scaled(load, values) for load in made]
        for name in "AB":
            engine = Engine(with_values(site, values), loads, workers=R1_ROWS[name].workers, databases=1, chunk=_CHUNK)
            rows[name] = row_of(site, engine.run(), plan.raw_bytes / 1e9, plan.discovered_bytes / 1e9)
        return closeness(evaluate({**rows, "C": rows["B"]}))

    dice = random.Random(args.seed)
    start = [site.ghz_seconds["expand"], site.ghz_seconds["index"], site.ops_per_call["expand"], site.ops_per_call["index"],
             site.fsa.service_us, site.fsb.service_us, site.database_io_per_row]  # fmt: skip
    tried = [start] + [[value * math.exp(dice.gauss(0, 0.4)) for value in start] for _ in range(args.coarse)]
    best = min((loss(values), values) for values in tried)
    print(f"from {best[0]:.4f}: {[round(value, 3) for value in best[1]]}", flush=True)
    write(fit(loss, best[1], args.steps))


_CHUNK = 60.0  # items served together: half the events of a printed simulation

if __name__ == "__main__":
    main()
