"""Offered against achieved load, and the one figure of it: the overall response time.

It is SPEC's figure (SPEC SFS 2014 SP2 Run and Reporting Rules 1.1, §5.4, overall response time): the area under the
curve of mean response time against achieved load, divided by the highest achieved load. Ours to choose were: trapezoids
between the levels, the lowest level's response time for all loads down to zero, and TOLERANCE.

Unlike SPEC's, whose runs fail then, a level that was not reached is shown; its response time grows with the length of
the run, so the curve ends at the last level before it, and the figure states where.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from experiments.report.words import count, microseconds
from experiments.result.schema import Level, Levels, Point, Run
from experiments.result.statistics import estimate, interval_text
from experiments.workload import About

TOLERANCE = 0.05  # of the offered load, that may be missing from the achieved one; our choice


def levels_of(about: About, points: Sequence[Point], peak: int, *, found: bool) -> Levels:
    """Of points that have their level in `at.percent`; 0: those that the peak was found at."""
    levels = [_level(about, place, point) for place, point in enumerate(points) if point.at.values()["percent"]]
    reached = list(itertools.takewhile(lambda level: level.reached, levels))
    overall = _overall(about, [points[level.point].repeats for level in reached])
    return Levels(
        peak=peak,
        found=found,
        tolerance=TOLERANCE,
        levels=tuple(levels),
        up_to=reached[-1].percent if overall else None,
        by_repeat_us=tuple(overall),
        overall_us=estimate(overall) if overall else None,
    )


def _level(about: About, place: int, point: Point) -> Level:
    offered = statistics.median(about.offered(run) or 0.0 for run in point.repeats)
    achieved = statistics.median(about.rate(run) for run in point.repeats)
    return Level(
        percent=point.at.values()["percent"],
        point=place,
        offered=offered,
        achieved=achieved,
        reached=achieved >= (1 - TOLERANCE) * offered > 0,
    )


def _overall(about: About, levels: Sequence[Sequence[Run]]) -> list[float]:
    """Of each repeat its own curve's; nothing where a run has no response time."""
    curves = [[(about.rate(run), about.mean_response_us(run)) for run in curve] for curve in zip(*levels, strict=True)]
    return [overall_response_us([(x, y) for x, y in curve if y is not None]) for curve in curves
            if all(y is not None for _, y in curve)]  # fmt: skip


def overall_response_us(curve: Sequence[tuple[float, float]]) -> float:
    """Of (achieved load, mean response time) by level, the lowest first; raises ValueError for a curve without load."""
    if not curve or curve[-1][0] <= 0:
        raise ValueError("a curve without load has no overall response time")
    (lowest, first), (highest, _) = curve[0], curve[-1]
    area = lowest * first
    area += sum((x - before) * (y + y_before) / 2 for (before, y_before), (x, y) in itertools.pairwise(curve))
    return area / highest


def told_levels(levels: Levels) -> str:
    """For the first line."""
    peak = f"{'a' if levels.found else 'a stated'} peak of {count(levels.peak)} calls/s"
    first_missed = next((level for level in levels.levels if not level.reached), None)
    ends = [] if first_missed is None else [f"{first_missed.percent} % not reached ({_both(first_missed)})"]
    if levels.overall_us is None:
        return "; ".join([f"no overall response time, {peak}", *ends])
    overall = interval_text(levels.overall_us, microseconds)
    return "; ".join([f"overall response time {overall} up to {levels.up_to} % of {peak}", *ends])


def missed(levels: Levels | None) -> list[str]:
    """A line for each level that was not reached, for the warnings."""
    if levels is None:
        return []
    return [
        f"{level.percent} % of the peak was not reached: {_both(level)}; {levels.tolerance:.0%} may be missing"
        for level in levels.levels
        if not level.reached
    ]


def _both(level: Level) -> str:
    return f"{count(level.achieved)} of {count(level.offered)} calls/s"
