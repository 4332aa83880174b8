"""Report R1's rows as a study that has all of the report's figures, and what may be otherwise in one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from report_results import point, result, run

from experiments.workloads.discovery.phase_use import PhaseUse
from experiments.workloads.discovery.r1.parameters import KIND, POINTS
from experiments.workloads.discovery.result import Point, Result, Run

RATES = {(1, 10): 11.69, (1, 30): 15.76, (2, 30): 23.55}  # GB/hour from its sizes and times
# Seconds at the peak: of 34.5 and 46.2 what 30 and 45 minutes are of R1's runs.
HIGH = {(1, 10): 4.0, (1, 30): 3.5, (2, 30): 5.5}
STEP_S = 0.5  # between looks

# Filer ops a second, utilisation of metadata and data unit: at a moment of a run that takes so long.
Filer = Callable[[float, float], tuple[float, float, float]]
Rows = Callable[[float, float], float]  # of the database, a second


def as_r1(databases: int, workers: int, high: float | None = None) -> Filer:
    """A peak, then half, then a quarter, with the data unit the busier one."""
    peak = 27_000.0 if workers == 10 else 39_000.0
    until = HIGH[databases, workers] if high is None else high

    def filer(at: float, elapsed: float) -> tuple[float, float, float]:
        if at <= until:
            return peak, 0.99, 0.60
        return (peak / 2, 0.5, 0.4) if at < 0.75 * elapsed else (peak / 4, 0.2, 0.3)

    return filer


def rows_as_r1(at: float, elapsed: float) -> float:
    """Many until primary discovery is done."""
    return 900.0 if at < elapsed / 3 else 100.0


def r1_run(databases: int, workers: int, filer: Filer | None = None, rows: Rows = rows_as_r1, **changes: Any) -> Run:
    """One of a row."""
    base = run(workers, databases=databases, rate=RATES[databases, workers])
    filer = filer or as_r1(databases, workers)
    seconds, use, activity = base.elapsed_s, [], []
    for look in range(int(seconds / STEP_S) + 1):
        at = look * STEP_S
        ops, metadata, data = filer(at, seconds)
        use.append((at, _stations(ops * STEP_S, metadata, data)))
        activity.append((at, {"db1": {"commits": 1, "rows": round(rows(at, seconds) * STEP_S)}}))
    series = dataclasses.replace(base.series, filer=tuple(use), database_activity=tuple(activity))
    index = PhaseUse(database="db1", phase="index", start_s=seconds / 3, elapsed_s=1.0, tasks=1, busy_s=1.0, task_s=(1.0,),
                     calls={}, cpu_s={})  # fmt: skip
    return dataclasses.replace(base, series=series, phases=(index,), **changes)


def _stations(ops: float, metadata: float, data: float) -> dict[str, dict[str, float]]:
    return {
        "metadata": {"utilisation": metadata, "wait_us": 0.0, "filer_ops": 0.4 * ops},
        "data": {"utilisation": data, "wait_us": 0.0, "filer_ops": 0.6 * ops},
    }


def r1_point(
    databases: int, workers: int, filer: Filer | None = None, rows: Rows = rows_as_r1, **changes: Any
) -> Point:
    """A row of one run."""
    return point(workers, databases=databases, runs=[r1_run(databases, workers, filer, rows, **changes)])


def r1_study(*points: Point, **fields: Any) -> Result:
    """Of the given rows, else of all three."""
    return result(*(points or (r1_point(*at) for at in POINTS)), kind=KIND, **fields)


def everywhere(filer: Filer | None = None, rows: Rows = rows_as_r1, **changes: Any) -> Result:
    """All three rows alike in these."""
    return r1_study(*(r1_point(*at, filer, rows, **changes) for at in POINTS))
