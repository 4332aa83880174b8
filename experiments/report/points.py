"""The points of a study in one table."""

from __future__ import annotations

from controller.timeline.thresholds import CPU_SHARE, RUN_QUEUE_SHARE
from experiments.report import words
from experiments.report.markup import Html, table, tag
from experiments.report.parts import Cell, Section, Series, Tabled, note
from experiments.report.views import LIMITED, interval, middle, named
from experiments.result.schema import Estimate, Point, Result
from experiments.workload import About, Figure
from experiments.workloads import about

ANCHOR, TITLE = "points", "The points"


def points(result: Result) -> Section:
    """Figures of every point with their intervals, and whether the generator limited it."""
    workload = about(result.workload)
    loads = list(result.points[0].at.values())
    header = (*loads, "repeats", *(figure.title for figure in workload.columns), f"{workload.makers}' CPU", "labels")
    texts = {place for place, value in enumerate(result.points[0].at.values().values()) if isinstance(value, str)}
    marked = frozenset(number for number, point in enumerate(result.points) if point.marks)
    rows = [_row(point, workload) for point in result.points]
    shown = table(header, rows, text_columns=frozenset({*texts, len(header) - 1}), marked=marked)
    parts = (
        Tabled(table=shown, series=_series(result, workload)),
        note(_intervals(result)),
        _reasons(result),
        note(_rule(workload)),
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=parts)


def _row(point: Point, workload: About) -> tuple[object, ...]:
    return (
        *point.at.shown().values(),
        len(point.repeats),
        *(_figure(figure, point.figures.get(figure.name)) for figure in workload.columns),
        words.percent(middle(point.repeats).worker_cpu),
        ", ".join(point.marks),
    )


def _figure(figure: Figure, estimate: Estimate | None) -> Html | str:
    return figure.missing if estimate is None else interval(estimate, figure.write)


def _series(result: Result, workload: About) -> Series:
    names = [figure.name for figure in workload.figures]
    spans = (f"{name}{end}" for name in names for end in ("", "_low", "_high"))
    rows: list[tuple[Cell, ...]] = []
    for point in result.points:
        estimates = [point.figures.get(name) for name in names]
        values = (value for one in estimates for value in ((one.median, one.low, one.high) if one else (None,) * 3))
        rows.append((*point.at.values().values(), len(point.repeats), *values, int(point.limited)))
    header = (*result.points[0].at.values(), "repeats", *spans, "generator_limited")
    return Series(name="points", header=header, rows=tuple(rows))


def _intervals(result: Result) -> str:
    least = min(len(point.repeats) for point in result.points)
    if least == 1:
        return "A point with one repeat has no interval: differences between such points prove nothing."
    every = (estimate for point in result.points for estimate in point.figures.values() if estimate.n == least)
    coverage = min(estimate.coverage or 0.0 for estimate in every)
    return (
        f"Medians of the repeats, with the interval that contains the true median with a probability of "
        f"{words.percent(coverage)} (order statistics of {words.many(least, 'repeat')}; six or more give 95 %). "
        "Overlapping intervals do not prove that points are equal. 1 GB is 10⁹ bytes."
    )


def _rule(workload: About) -> str:
    so = "Without a null baseline it is one" if workload.pair_decides else "So is one"
    return (
        f"{workload.rule} {so} whose {workload.makers} use over {words.percent(CPU_SHARE)} of the CPU, or wait for"
        f" a core for over {words.percent(RUN_QUEUE_SHARE)} of the time in calls: it shows nothing about the storage."
    )


def _reasons(result: Result) -> Html:
    limited = [(point, reason) for point in result.points if point.limited for reason in point.limits]
    if limited:
        lines = [tag("li", f"{named(point, result)}: {reason}") for point, reason in limited]
        return tag("div", tag("p", f"{LIMITED} points show nothing about the storage:"), tag("ul", *lines))
    if all(run.null_elapsed_s is None for point in result.points for run in point.repeats):
        return note("No point was found limited by the generator, but no run has a null baseline to prove it.")
    return note("No point was limited by the generator.")
