"""The median run of a row of `experiment r1`, in the site's time: filer ops, both units, the database."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from experiments.report.views import middle
from experiments.workloads.discovery.r1.course import Course, course
from experiments.workloads.discovery.result import Point, Result, Run

# Of the shortest row, that peaks and plateaus are means over: calls are booked in bursts. The same for all rows: one that goes by the
# length of each would measure two rows with two measures.
_WINDOW = 0.05
_SAMPLE_S = 1.0  # here
_UNITS = ("metadata", "data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. Seconds are the site's."""

    workers: int
    elapsed_s: float
    window_s: float
    ops: Course
    metadata: Course  # utilisation, 0…1
    data: Course
    rows: Course  # of the database
    index_s: float | None  # from when on phase index was at work


def row(point: Point, result: Result) -> Row:
    """Of a point, as its median run has it."""
    run, times = middle(point.repeats), time_scale(result)
    index = min((phase.start_s for phase in run.phases if phase.phase == "index"), default=None)
    return Row(
        workers=point.workers,
        elapsed_s=run.elapsed_s / times,
        window_s=window_s(result),
        ops=filer_ops(run, times),
        metadata=_unit(run, times, "metadata"),
        data=_unit(run, times, "data"),
        rows=_rows(run, times),
        index_s=None if index is None else (index + _SAMPLE_S) / times,
    )


def time_scale(result: Result) -> float:
    """Seconds that a second of the site took here; 1 where no site was emulated."""
    return float((numbers_of(result).get("site") or {}).get("time_scale", 1.0))


def numbers_of(result: Result) -> dict[str, Any]:
    """Of the emulated filer; none where none was."""
    return (result.conditions.get("emulated_filer") or {}).get("numbers") or {}


def seconds_told(result: Result) -> str:
    """Whose seconds those of R1's tables are, ours; empty where no site was emulated."""
    if not numbers_of(result).get("site"):
        return ""
    scale = time_scale(result)
    return (
        "Elapsed times and GB/hour of ours in R1's tables are in seconds of this machine;"
        f" a second of the site takes {scale:g} of them (time x {scale:g})."
    )


def window_s(result: Result) -> float:
    """Seconds of the site's time that a rate has to be held for."""
    return _WINDOW * min(middle(point.repeats).elapsed_s for point in result.points) / time_scale(result)


def filer_ops(run: Run, times: float) -> Course:
    """Of metadata and data unit together."""
    looks = []
    for at, stations in run.series.filer:
        counted = [stations[unit]["filer_ops"] for unit in _UNITS if "filer_ops" in stations.get(unit, {})]
        if counted:
            looks.append((at / times, sum(counted)))
    return course(looks)


def _unit(run: Run, times: float, name: str) -> Course:
    looks = [(at / times, stations[name]["utilisation"]) for at, stations in run.series.filer if name in stations]
    since = itertools.pairwise([*looks[:1], *looks])
    return course((now, busy * (now - before)) for (before, _), (now, busy) in since)


def _rows(run: Run, times: float) -> Course:
    return course(
        (at / times, sum(one.get("rows", 0) for one in by_database.values()))
        for at, by_database in run.series.database_activity
    )
