"""What the sections need to know of discoveries: names of points, the run that stands for one, sums over jobs."""

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
    """A point by its workers, and by slots, databases and settings where these differ among the points."""
    name = words.many(point.at.workers, "worker")
    if len({other.at.slots for other in points}) > 1:
        name += f" × {words.many(point.at.slots, 'slot')}"
    if len({other.at.databases for other in points}) > 1:
        name += f", {words.many(point.at.databases, 'database')}"
    if len({other.at.setting for other in points}) > 1:
        name += f", {point.at.setting}"
    return name


def middle_run(point: Point) -> Run:
    """The repeat that stands for the point."""
    return middle(point.repeats)


def said_of(points: Sequence[Point], result: Result, of: Callable[[Run], str | None]) -> str:
    """What is reported of each point's run, of many points of the first and the last."""
    ends = points if len(points) <= 3 else [points[0], points[-1]]
    said = ((point, of(middle_run(point))) for point in ends)
    return "; ".join(f"{point_name(point, result.points)}: {one}" for point, one in said if one is not None)


def busiest(result: Result) -> Point:
    """The point with the most slots, of these the one with the most databases."""
    return max(result.points, key=lambda point: (point.at.workers * point.at.slots, point.at.databases))


def which_run(point: Point, points: Sequence[Point]) -> str:
    """For sentences about one run: "2 workers (repeat 1 of 3, the median one)"."""
    name = point_name(point, points)
    if len(point.repeats) == 1:
        return name
    return f"{name} (repeat {middle_run(point).repeat + 1} of {len(point.repeats)}, of median elapsed time)"


def jobs_of(run: Run) -> list[Mapping[str, Any]]:
    """The results of the run's jobs: one, or with several databases one for each."""
    jobs = run.result.get("jobs")
    return list(jobs) if isinstance(jobs, list) and jobs else [run.result]


def longest_job_s(run: Run) -> float:
    """Elapsed time of the job that took longest, which is report R1's; of a job alone, its own."""
    return max((float(job.get("elapsed_s") or 0.0) for job in jobs_of(run)), default=0.0) or run.elapsed_s


def rate_over_longest_job(run: Run) -> float:
    """Discovered GB/hour of all jobs together over that time: report R1's."""
    longest = longest_job_s(run)
    return run.gb_per_hour_discovered * (run.elapsed_s / longest) if longest else run.gb_per_hour_discovered


def over_longest_job(point: Point) -> tuple[Estimate, Estimate]:
    """Elapsed seconds of the longest job and discovered GB/hour over that. A point's own figures go from the start of the first
    job to the end of the last."""
    if point.at.databases == 1:
        return point.figures[ELAPSED], point.figures[RATE]
    every = point.repeats
    return estimate([longest_job_s(run) for run in every]), estimate([rate_over_longest_job(run) for run in every])


def total(run: Run, field: str) -> int:
    """A whole number summed over the run's jobs; what a job does not report counts as 0."""
    return sum(int(job.get(field) or 0) for job in jobs_of(run))


def totals_by_key(run: Run, field: str, value: Callable[[Any], int] = int) -> dict[str, int]:
    """A mapping's numbers summed over the run's jobs, for instance exceptions by code."""
    sums: dict[str, int] = {}
    for job in jobs_of(run):
        for key, one in (job.get(field) or {}).items():
            sums[key] = sums.get(key, 0) + value(one)
    return sums


def calls_by_op(run: Run) -> dict[str, int]:
    """Storage calls of the run by op label, all jobs together."""
    return totals_by_key(run, "calls", lambda one: int(one["count"]))


def phases_of(run: Run) -> dict[str, float]:
    """Seconds by phase, of the job that took longest."""
    longest = max(jobs_of(run), key=lambda job: float(job.get("elapsed_s") or 0.0))
    return {str(phase): float(seconds) for phase, seconds in (longest.get("phases") or {}).items()}
