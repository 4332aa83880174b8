"""Claims of a result: labels of its first line, whether the generator limited a point (design §4), levels of load.

The overall response time of offered against achieved load is SPEC's figure (SPEC SFS 2014 SP2 Run and Reporting Rules
1.1, §5.4): the area under the curve of mean response time against achieved load, divided by the highest achieved load.
Ours to choose were: trapezoids between the levels, the lowest level's response time for all loads down to zero, and
TOLERANCE. Unlike SPEC's, whose runs fail then, a level that was not reached is shown; its response time grows with the
length of the run, so the curve ends at the last level before it, and the figure states where."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller.jobs.progress import duration
from controller.labels.rules import Effort, short_of_processors, study_labels
from core.operations import Op
from core.plain import grouped
from core.records import FsyncPolicy
from experiments.report.words import count, microseconds
from experiments.result.schema import At, Knee, Level, Levels, Point, Ratio, Run, Tuning
from experiments.result.statistics import LEAST_REPEATS, Judged, estimate, interval_text, judged, ratio_of
from experiments.result.steady import MIN_SECONDS, unsteady
from experiments.workload import About

TOLERANCE = 0.05  # share of the offered load that may be missing from the achieved one; our choice


def levels_of(about: About, points: Sequence[Point], peak: int, *, found: bool) -> Levels:
    """Return the levels of points that have theirs in `at.percent`; 0: the point at which the peak was found."""
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
    """Return the overall response time of each repeat's curve; nothing for one with a run that has no response time."""
    curves = [[(about.rate(run), about.mean_response_us(run)) for run in curve] for curve in zip(*levels, strict=True)]
    return [overall_response_us([(x, y) for x, y in curve if y is not None]) for curve in curves
            if all(y is not None for _, y in curve)]  # fmt: skip


def overall_response_us(curve: Sequence[tuple[float, float]]) -> float:
    """Return the overall response time of (achieved load, mean response time) by level, the lowest first. Raises
    ValueError for a curve without load."""
    if not curve or curve[-1][0] <= 0:
        raise ValueError("a curve without load has no overall response time")
    (lowest, first), (highest, _) = curve[0], curve[-1]
    area = lowest * first
    area += sum((x - before) * (y + y_before) / 2 for (before, y_before), (x, y) in itertools.pairwise(curve))
    return area / highest


def levels_text(levels: Levels) -> str:
    """Describe the levels for the first line."""
    peak = f"{'a' if levels.found else 'a stated'} peak of {count(levels.peak)} calls/s"
    first_missed = next((level for level in levels.levels if not level.reached), None)
    ends = [] if first_missed is None else [f"{first_missed.percent} % not reached ({_both(first_missed)})"]
    if levels.overall_us is None:
        return "; ".join([f"no overall response time, {peak}", *ends])
    overall = interval_text(levels.overall_us, microseconds)
    return "; ".join([f"overall response time {overall} up to {levels.up_to} % of {peak}", *ends])


def missed(levels: Levels | None) -> list[str]:
    """Return a warning for each level that was not reached."""
    if levels is None:
        return []
    return [
        f"{level.percent} % of the peak was not reached: {_both(level)}; {levels.tolerance:.0%} may be missing"
        for level in levels.levels
        if not level.reached
    ]


def _both(level: Level) -> str:
    return f"{count(level.achieved)} of {count(level.offered)} calls/s"


def bounds_copies(knee: Knee | None, fsync: str) -> str | None:
    """Return what a bound on `write` means under an fsync policy, for the first line; None if there is nothing to
    remark."""
    if knee is None or Op.WRITE.label not in knee.bounds_us or fsync != FsyncPolicy.NONE.value:
        return None
    return (
        "the bound on write applies to copies into memory (fsync none): close and the flush at the end write them "
        "to the storage"
    )


def points_of(about: About, runs: Mapping[At, Sequence[Run]], least_s: float | None = None) -> tuple[Point, ...]:
    """Return the points with medians, intervals and whether the generator was the limit. `least_s`: how long a run must
    be; None: neither that nor steadiness is judged."""
    out = []
    for at, repeats in runs.items():
        limits = limits_of(about, repeats)
        short = least_s is not None and any(run.elapsed_s < least_s for run in repeats)
        known = ((figure, figure.values(repeats)) for figure in about.figures)
        out.append(
            about.point(
                at=at,
                figures={one.name: estimate(values[:1] if one.once else values) for one, values in known if values},
                limited=bool(limits),
                limits=limits,
                repeats=tuple(repeats),
                short=short,
                unsteady=() if least_s is None or short else unsteady(repeats),
            )
        )
    return tuple(out)


def limits_of(about: About, runs: Sequence[Run]) -> tuple[str, ...]:
    """Return why a point allows no conclusion about the storage; empty if it does. Medians over its repeats are used.

    CPU use and waits for a CPU characterise the generator alone. A null baseline shows what part of the time the
    storage took: slots that wait for a CPU now and then may still wait for the storage most of the time."""
    near = about.near_null(runs)
    out = [] if near is None else [near]
    if about.pair_decides and any(run.null_elapsed_s is not None for run in runs):
        return tuple(out)
    effort = Effort(
        cpu=_median(run.worker_cpu for run in runs),
        waits=_median(run.run_queue_share for run in runs),
        in_calls=_median(about.in_calls(run) for run in runs),
    )
    return (*out, *short_of_processors(effort, about.makers))


def _median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def labels_of(
    points: Sequence[Point],
    emulated: Sequence[str | None],
    *,
    cached: bool,
    undeclared: bool = False,
    least_s: float = MIN_SECONDS,
    paired: bool = True,
) -> tuple[str, ...]:
    """Return labels that must precede any figure. `emulated`: each point's label of its emulated filer; `least_s`: how
    long its runs had to be; `paired`: whether they should have null baselines."""
    return study_labels(
        emulated,
        cached=cached,
        undeclared=undeclared,
        unpaired=sum(all(run.null_elapsed_s is None for run in point.repeats) for point in points) if paired else 0,
        limited=sum(point.limited for point in points),
        short=sum(point.short for point in points),
        unsteady=sum(bool(point.unsteady) for point in points),
        lowered=duration(least_s) if least_s < MIN_SECONDS else "",
    )


def sentence(
    about: About, kind: str, axis: str, points: Sequence[Point], *, where: str, pace: str,
    found: Sequence[Knee] | Levels | Tuning | None = None,
) -> str:  # fmt: skip
    """State the findings. Points that differ in more than the axis are reported group by group."""
    what = f"{about.titled(kind)}{pace and ' '}{pace}"
    match found:
        case Levels():
            return f"{what} on {where}: {levels_text(found)}"
        case Tuning():
            return f"{what} on {where}: {_tuned(about, points, found)}"

    def others(point: Point) -> tuple[Any, ...]:
        at = point.at.without(axis).items()
        return tuple(point.at.on(name) if isinstance(value, int) else value for name, value in at)

    groups = grouped(points, others)
    if found:
        clauses = [_knee(about, axis, points, knee) for knee in found]
    else:
        among = judged([_ratio(about, group) for group in groups.values()])
        clauses = [_extremes(about, axis, group, one) for group, one in zip(groups.values(), among, strict=True)]
    if len(groups) == 1:
        return f"{what} on {where}: {clauses[0]}"
    alike = set.intersection(*map(set, groups))
    keys = (", ".join(str(part) for part in key if part not in alike) for key in groups)
    placed = "storage" in points[0].at.values()  # each group names its own
    named = "; ".join(f"{'on ' * placed}{key}: {clause}" for key, clause in zip(keys, clauses, strict=True))
    return f"{what} {named}" if placed else f"{what} on {where}: {named}"


def _ratio(about: About, points: Sequence[Point]) -> Ratio | None:
    """Return the ratio of the rate under the highest load to that under the lowest; None for one point or too few
    repeats."""
    figure, first, last = about.headlines[0], points[0], points[-1]
    return None if first is last else ratio_of(figure.values(last.repeats), figure.values(first.repeats))


def _extremes(about: About, axis: str, points: Sequence[Point], judgement: Judged | None) -> str:
    """Describe the point with the highest load, and compare it with the lowest if the repeats allow it."""
    first, last = points[0], points[-1]
    text = f"{_headlines_text(about, last)} at {last.at.on(axis)}"
    if judgement is None or not judgement.open:
        return text if first is last else f"{text}; {_headlines_text(about, first)} at {first.at.on(axis)}"
    ratio = judgement.ratio
    interval = f"[{ratio.low:.2f} – {ratio.high:.2f}]"
    if not judgement.differs:
        return f"{text}, no difference from {first.at.on(axis)}: {interval} x"
    return f"{text}, {ratio.ratio:.2f} x {interval} that of {first.at.values()[axis]}"


def _tuned(about: About, points: Sequence[Point], tuning: Tuning) -> str:
    """Describe the best setting and its gain over the default."""
    best, (gain,) = points[tuning.best], judged([tuning.gain])
    found, rate = f"the best of {len(points) - 1} settings is {best.at}", about.headlines[0].title
    if gain is None or not gain.open:
        return f"{found}: {rate} with fewer than {LEAST_REPEATS} repeats: no statement"
    ratio = gain.ratio
    interval = f"[{ratio.low:.2f} – {ratio.high:.2f}]"
    if not gain.differs:
        return f"{found}: {rate} shows no difference from the default: {interval} x"
    if ratio.ratio < 1:
        found = f"none of {len(points) - 1} settings is better than the default; the last one left, {best.at}"
    return f"{found}: {rate} is {ratio.ratio:.2f} x {interval} that of the default"


def _headlines_text(about: About, point: Point) -> str:
    there = [(figure, point.figures[figure.name]) for figure in about.headlines if figure.name in point.figures]
    return ", ".join(f"{interval_text(interval, figure.write)} {figure.title}" for figure, interval in there)


def _knee(about: About, axis: str, points: Sequence[Point], knee: Knee) -> str:
    peak = points[knee.peak]
    text = f"peak {_headlines_text(about, peak)} at {peak.at.on(axis)}"
    if knee.knee is None:
        return f"{text}; no load stays within the bounds: {knee.broken}"
    at = points[knee.knee]
    kept = f"{_headlines_text(about, at)} at {at.at.on(axis)} stays within all bounds"
    return f"{text}; {kept}; {knee.broken or 'no bound was exceeded up to the highest load'}"


def warnings_of(points: Sequence[Point], *, no_baseline: str | None, least_s: float = MIN_SECONDS) -> list[str]:
    """Return what a reader of any experiment must know before using the figures."""
    out = []
    fewest = min(len(point.repeats) for point in points)
    if fewest < LEAST_REPEATS:
        out.append(
            f"{fewest} repeat{'s' if fewest > 1 else ''} a point: comparisons need {LEAST_REPEATS}"
            " (an interval reaches 95 % with 6)"
        )
    if any(point.short for point in points):
        shortest = min(run.elapsed_s for point in points for run in point.repeats)
        out.append(f"SHORT: the shortest run took {duration(shortest)}, at least {duration(least_s)} are required")
    out += [f"NOT STEADY at {point.at}: {reason}" for point in points for reason in point.unsteady]
    paired = [run.null_elapsed_s is not None for point in points for run in point.repeats]
    if no_baseline is not None and not all(paired):
        lacking = (
            f"{paired.count(False)} of {len(paired)} runs have no null baseline"
            if any(paired)
            else "no run has a null baseline"
        )
        out.append(f"{lacking}: {no_baseline}; so the limit of the run is unknown there")
    return out
