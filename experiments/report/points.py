"""The points of an experiment in one table."""

from __future__ import annotations

from controller.timeline.thresholds import CPU_SHARE, RUN_QUEUE_SHARE
from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.markup import Html, tag
from experiments.report.parts import Section, note
from experiments.report.views import LIMITED, middle, named
from experiments.result.schema import Point, Result
from experiments.workload import About, Figure
from experiments.workloads import about

ANCHOR, TITLE = "points", "The points"


def points(result: Result) -> Section:
    """Figures of every point with their intervals, and whether the generator limited it."""
    workload = about(result.workload)
    parts = (
        tabled("points", _columns(result, workload), result.points, mark=lambda point: bool(point.marks)),
        note(_intervals(result)),
        _reasons(result),
        note(_rule(workload)),
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=parts)


def _columns(result: Result, workload: About) -> list[Column[Point]]:
    loads = result.points[0].at.values()
    return [
        *(column for name, value in loads.items() for column in _of_load(name, text=isinstance(value, str))),
        Column("repeats", "repeats", lambda point: len(point.repeats)),
        *(column for figure in workload.figures for column in _of_figure(figure)),
        Column("", f"{workload.makers}' CPU", lambda point: middle(point.repeats).worker_cpu, words.percent),
        Column("", "labels", lambda point: ", ".join(point.marks), text=True),
        Column("generator_limited", None, lambda point: int(point.limited)),
    ]


def _of_load(name: str, *, text: bool) -> tuple[Column[Point], ...]:
    return (
        Column(name, None, lambda point: point.at.values()[name]),
        Column("", name, lambda point: str(point.at.shown()[name]), text=text),
    )


def _of_figure(one: Figure) -> tuple[Column[Point], ...]:
    """Its median with the interval in the report; three columns in the CSV."""
    title = None if one.aside else one.title
    return (
        Column(one.name, title, lambda point: point.figures.get(one.name), one.write, missing=one.missing),
        Column(f"{one.name}_low", None, lambda point: getattr(point.figures.get(one.name), "low", None)),
        Column(f"{one.name}_high", None, lambda point: getattr(point.figures.get(one.name), "high", None)),
    )


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
