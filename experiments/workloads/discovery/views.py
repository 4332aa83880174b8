"""Views of discoveries that sections share: names of points, the run that represents one, sums over jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.report import words
from experiments.report.parts import Column
from experiments.report.views import middle
from experiments.result.schema import Estimate
from experiments.result.statistics import estimate
from experiments.workloads.discovery.result import ELAPSED, RATE, Point, Result, Run

KEYS: tuple[Column[Any], ...] = (  # of rows that begin with a point and a run, in every CSV of runs
    Column("workers", None, lambda row: row[0].at.workers),
    Column("slots", None, lambda row: row[0].at.slots),
    Column("databases", None, lambda row: row[0].at.databases),
    Column("setting", None, lambda row: row[0].at.setting),
    Column("repeat", None, lambda row: row[1].repeat),
)


def point_name(point: Point, points: Sequence[Point]) -> str:
    """Name a point by its workers, and by slots, databases and settings if these differ among the points."""
    name = words.many(point.at.workers, "worker")
    if len({other.at.slots for other in points}) > 1:
        name += f" × {words.many(point.at.slots, 'slot')}"
    if len({other.at.databases for other in points}) > 1:
        name += f", {words.many(point.at.databases, 'database')}"
    if len({other.at.setting for other in points}) > 1:
        name += f", {point.at.setting}"
    return name


def middle_run(point: Point) -> Run:
    """Return the repeat that represents the point."""
    return middle(point.repeats)


def reported(points: Sequence[Point], result: Result, of: Callable[[Run], str | None]) -> str:
    """Return what `of` reports about each point's run; with many points, only the first and the last."""
    ends = points if len(points) <= 3 else [points[0], points[-1]]
    texts = ((point, of(middle_run(point))) for point in ends)
    return "; ".join(f"{point_name(point, result.points)}: {one}" for point, one in texts if one is not None)


def busiest(result: Result) -> Point:
    """Return the point with the most slots, among these the one with the most databases."""
    return max(result.points, key=lambda point: (point.at.workers * point.at.slots, point.at.databases))


def which_run(point: Point, points: Sequence[Point]) -> str:
    """Name one run for a sentence: "2 workers (repeat 1 of 3, of median elapsed time)"."""
    name = point_name(point, points)
    if len(point.repeats) == 1:
        return name
    return f"{name} (repeat {middle_run(point).repeat + 1} of {len(point.repeats)}, of median elapsed time)"


def jobs_of(run: Run) -> list[Mapping[str, Any]]:
    """Return the results of the run's jobs: one, or with several databases one for each."""
    jobs = run.result.get("jobs")
    return list(jobs) if isinstance(jobs, list) and jobs else [run.result]


def longest_job_s(run: Run) -> float:
    """Return the elapsed time of the longest job, which is report R1's; for a single job, its own."""
    return max((float(job.get("elapsed_s") or 0.0) for job in jobs_of(run)), default=0.0) or run.elapsed_s


def rate_over_longest_job(run: Run) -> float:
    """Return the discovered GB/hour of all jobs together over the longest job's time: report R1's rate."""
    longest = longest_job_s(run)
    return run.gb_per_hour_discovered * (run.elapsed_s / longest) if longest else run.gb_per_hour_discovered


def over_longest_job(point: Point) -> tuple[Estimate, Estimate]:
    """Return the elapsed seconds of the longest job and the discovered GB/hour over them. A point's own figures are
    from the start of the first job to the end of the last."""
    if point.at.databases == 1:
        return point.figures[ELAPSED], point.figures[RATE]
    every = point.repeats
    return estimate([longest_job_s(run) for run in every]), estimate([rate_over_longest_job(run) for run in every])


def total(run: Run, field: str) -> int:
    """Return a whole number summed over the run's jobs; a job that does not report it counts as 0."""
    return sum(int(job.get(field) or 0) for job in jobs_of(run))


def totals_by_key(run: Run, field: str, value: Callable[[Any], int] = int) -> dict[str, int]:
    """Return a mapping's numbers summed over the run's jobs, for instance exceptions by code."""
    sums: dict[str, int] = {}
    for job in jobs_of(run):
        for key, one in (job.get(field) or {}).items():
            sums[key] = sums.get(key, 0) + value(one)
    return sums


def calls_by_op(run: Run) -> dict[str, int]:
    """Return storage calls of the run by op label, all jobs together."""
    return totals_by_key(run, "calls", lambda one: int(one["count"]))


def phases_of(run: Run) -> dict[str, float]:
    """Return seconds by phase, of the longest job."""
    longest = max(jobs_of(run), key=lambda job: float(job.get("elapsed_s") or 0.0))
    return {str(phase): float(seconds) for phase, seconds in (longest.get("phases") or {}).items()}
