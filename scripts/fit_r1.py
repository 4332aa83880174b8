"""Fit the seven parameters of the site `r1` to the facts of report R1 that may be used for it: `make fit-r1`.

Only rows A and B are used, with the facts marked `fit`; row C and the facts marked `predict` are not computed here. The
site's present values are not used: the search begins with points spread over the ranges, each task served whole, and
ends with chunks of items and several data sets. It minimises the sum of the squared misses, in tolerances. Writes the
values into `packages/simulate/simulate/sites/r1.toml`, and the shipped calibration as the one that they belong to."""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 - imports from the directory above
from core.records import Phase
from simulate import tasks as column
from simulate.answer import R1_ROWS
from simulate.demands import FILE as CALIBRATION
from simulate.demands import file_of, shipped
from simulate.engine import Engine
from simulate.facts import misses
from simulate.plan import Plan, contents_of_plain, plan_of
from simulate.simulation import chunk_for, row_of
from simulate.site import Site, load_site
from simulate.tasks import Floats, JobLoad, Task, jobs_of

FILE = ROOT / "packages" / "simulate" / "simulate" / "sites" / "r1.toml"
# Name, key in the site's file, and the range that docs/reports.md argues for.
PARAMETERS = (
    ("expand_ghz_s", "cpu.expand", 50.0, 1000.0),
    ("index_ghz_s", "cpu.index", 50.0, 1000.0),
    ("expand_ops", "protocol.ops_per_call.expand", 5.0, 50.0),
    ("index_ops", "protocol.ops_per_call.index", 10.0, 100.0),
    ("fsa_us", "filer.fsa.service_us", 50.0, 250.0),
    ("fsb_us", "filer.fsb.service_us", 50.0, 300.0),
    ("database_io", "database_load.io_per_row", 0.5, 8.0),
)
Residuals = Callable[[Sequence[Sequence[float]]], list[Floats]]  # of each point
Made = tuple[Plan, Sequence[JobLoad]]  # a data set, and its jobs for parameters that are all 1


def database_factor(values: Sequence[float], measured: Sequence[float]) -> float:
    """Return the factor of the database's cost: all parts of the product communicate through it, so it is the mean
    factor of the CPU. `measured`: CPU seconds of phases expand and index of the calibration, for the data set."""
    return float(np.average(values[:2], weights=measured))


def with_values(site: Site, values: Sequence[float], measured: Sequence[float]) -> Site:
    """Return the site with these parameters; finalise has expand's CPU, and phase walk is as measured."""
    expand_cpu, index_cpu, expand_ops, index_ops, fsa, fsb, io = values
    change = site.fsa.change_us / site.fsa.service_us
    return dataclasses.replace(
        site,
        ghz_seconds={**site.ghz_seconds, "expand": expand_cpu, "index": index_cpu, "finalise": expand_cpu},
        database_ghz_seconds={
            **site.database_ghz_seconds,
            **dict.fromkeys(_DATABASE, database_factor(values, measured)),
        },
        ops_per_call={**site.ops_per_call, "expand": expand_ops, "index": index_ops},
        fsa=dataclasses.replace(site.fsa, service_us=fsa, change_us=fsa * change),
        fsb=dataclasses.replace(site.fsb, service_us=fsb, change_us=fsb),
        database_io_per_row=io,
    )


def scaled(load: JobLoad, values: Sequence[float], measured: Sequence[float]) -> JobLoad:
    """Return the job, which was computed for parameters that are all 1, with these: the demands of tasks are
    proportional to them."""
    expand_cpu, index_cpu, expand_ops, index_ops, fsa, fsb, io = values
    phases = []
    each_task, each_slot = dict(load.each_task), dict(load.each_slot)
    for phase, tasks in load.phases:
        cpu = {Phase.EXPAND: expand_cpu, Phase.INDEX: index_cpu, Phase.FINALISE: expand_cpu}.get(phase, 1.0)
        ops = {Phase.EXPAND: expand_ops, Phase.INDEX: index_ops}.get(phase, 1.0)
        factors = [1.0] * column.COLUMNS
        factors[column.CPU], factors[column.DATABASE_IO] = cpu, io
        factors[column.DATABASE] = database_factor(values, measured) if phase.value in _DATABASE else 1.0
        factors[column.FSA_OPS], factors[column.FSA_S] = ops, ops * fsa
        factors[column.FSB_OPS], factors[column.FSB_S] = ops, ops * fsb
        phases.append((phase, tuple(_scaled(task, factors) for task in tasks)))
        for own in (each_task, each_slot):
            own[phase] = [one * factor for one, factor in zip(own[phase], factors, strict=True)]
    return dataclasses.replace(load, phases=tuple(phases), each_task=each_task, each_slot=each_slot)


def _scaled(task: Task, factors: Sequence[float]) -> Task:
    demand = [one * factor for one, factor in zip(task.demand, factors, strict=True)]
    return Task(task.weight, task.id, task.items, demand, tuple(_scaled(follow, factors) for follow in task.follow))


def fit(residuals: Residuals, start: Sequence[float], rounds: int) -> list[float]:
    """Minimise by Levenberg and Marquardt over the logarithms of the values, within their ranges; deterministic."""
    low, high = (np.log([parameter[n] for parameter in PARAMETERS]) for n in (2, 3))
    at, damping = np.log(start), 0.1
    (now,) = residuals([list(np.exp(at))])
    for _ in range(rounds):
        steps = np.where(at + _STEP <= high, _STEP, -_STEP)
        slope = (np.stack(residuals(list(np.exp(at + np.diag(steps)))), axis=1) - now[:, None]) / steps
        squares = slope.T @ slope
        for _ in range(4):
            change = np.linalg.solve(squares + np.diag(damping * squares.diagonal() + 0.01), -slope.T @ now)
            tried = np.clip(at + np.clip(change, -0.5, 0.5), low, high)
            (found,) = residuals([list(np.exp(tried))])
            if found @ found < now @ now:
                at, now, damping = tried, found, damping / 3
                break
            damping *= 4
        else:
            break
        print(f"  {now @ now:8.3f}  {_shown(np.exp(at))}", flush=True)
    return list(np.exp(at))


def _shown(values: Sequence[float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for (name, *_), value in zip(PARAMETERS, values, strict=True))


def spread(points: int, dice: random.Random) -> list[list[float]]:
    """Return a Latin hypercube over the logarithms of the ranges."""
    columns = []
    for _, _, low, high in PARAMETERS:
        places = list(range(points))
        dice.shuffle(places)
        columns.append([low * (high / low) ** ((place + 0.5) / points) for place in places])
    return [list(one) for one in zip(*columns, strict=True)]


def write(values: Sequence[float], measured: Sequence[float]) -> None:
    """Write the values into the site's file, with four significant digits."""
    text = FILE.read_text(encoding="utf-8")
    also = {"cpu.finalise": values[0]} | {
        f"database_load.ghz_seconds.{phase}": database_factor(values, measured) for phase in _DATABASE
    }
    for key, value in {**{key: v for (_, key, *_), v in zip(PARAMETERS, values, strict=True)}, **also}.items():
        table, _, name = key.rpartition(".")
        at = text.index(f"[{table}]")
        found = re.compile(rf"^{name} = \S+", re.M).search(text, at)
        assert found is not None, key
        text = f"{text[: found.start()]}{name} = {float(f'{value:.4g}')}{text[found.end() :]}"
    FILE.write_text(text, encoding="utf-8")


def residuals_of(
    made: Sequence[Made], site: Site, measured: Sequence[float], chunk: float | None, processes: int
) -> Residuals:
    """Return a function that computes the misses of rows A and B, the mean over the data sets; points are computed on
    all CPUs."""

    def one(values: Sequence[float]) -> Floats:
        now = with_values(site, values, measured)
        total = []
        for plan, jobs in made:
            loads = [scaled(load, values, measured) for load in jobs]
            served = chunk or chunk_for(plan.items)
            rows = {}
            for name in "AB":
                trace = Engine(now, loads, workers=R1_ROWS[name].workers, databases=1, chunk=served).run()
                rows[name] = row_of(now, trace, plan.raw_bytes / 1e9, plan.discovered_bytes / 1e9)
            total.append(misses(rows))
        return np.asarray(np.mean(np.array(total), axis=0))

    def residuals(points: Sequence[Sequence[float]]) -> list[Floats]:
        global _one
        _one = one
        with multiprocessing.get_context("fork").Pool(min(processes, len(points))) as pool:
            return pool.map(_call, points, chunksize=1)

    return residuals


_one: Callable[[Sequence[float]], Floats]


def _call(values: Sequence[float]) -> Floats:
    return _one(values)  # forked: it has the data sets


def _cpu_s(tasks: Sequence[Task]) -> float:
    return sum(task.demand[column.CPU] + _cpu_s(task.follow) for task in tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=48, help="begin from the best of so many points in the ranges")
    parser.add_argument("--starts", type=int, default=4, help="search from so many of the best points")
    parser.add_argument("--rounds", type=int, default=8, help="of the search with whole tasks")
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[1, 2], help="of the data sets; the first for whole tasks"
    )
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="that compute points at the same time"
    )
    args = parser.parse_args()
    calibration, site = shipped(), load_site("r1")
    contents = contents_of_plain(calibration.contents)
    unit = with_values(site, [1.0] * len(PARAMETERS), [1.0, 1.0])
    plans = [plan_of(site.profile, 1.0, seed, contents) for seed in args.seeds]
    made = [(plan, jobs_of(plan, calibration.demands, unit)) for plan in plans]
    phases = [dict(job.phases) for job in made[0][1]]
    measured = [sum(_cpu_s(of[phase]) for of in phases) for phase in (Phase.EXPAND, Phase.INDEX)]
    coarse = residuals_of(made[:1], site, measured, _WHOLE_TASKS, args.processes)
    points = spread(args.points, random.Random(1))
    scored = sorted(
        (float(np.square(misses).sum()), values) for misses, values in zip(coarse(points), points, strict=True)
    )
    print(f"best of {args.points} points: {[round(score, 1) for score, _ in scored[: args.starts]]}", flush=True)
    ends = [fit(coarse, values, args.rounds) for _, values in scored[: args.starts]]
    found = min(zip(coarse(ends), ends, strict=True), key=lambda end: float(np.square(end[0]).sum()))[1]
    print(f"with chunks, seeds {args.seeds}", flush=True)
    fine = residuals_of(made, site, measured, None, args.processes)
    found = fit(fine, found, _FINE_ROUNDS)
    print(
        "misses in tolerances:", np.round(fine([found])[0], 2).tolist(), f"CPU {sum(os.times()[:4]):.0f} s", flush=True
    )
    write(found, measured)
    shutil.copy(CALIBRATION, file_of("r1"))


_DATABASE = ("expand", "index", "finalise")  # phases in which items are processed; walk is as it was measured
_WHOLE_TASKS = 1e9  # items served together
_FINE_ROUNDS = 6  # with chunks
_STEP = 0.06  # of a logarithm, for slopes

if __name__ == "__main__":
    main()
