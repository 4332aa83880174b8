"""Sections that every report has: points, length and steady state, knee, full disclosure."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from controller.labels.rules import CPU_SHARE, RUN_QUEUE_SHARE
from experiments.report import words
from experiments.report.parts import (
    Cell,
    Column,
    Html,
    Parts,
    Plot,
    Tabled,
    note,
    paragraph,
    plotted,
    section,
    tabled,
    tag,
)
from experiments.report.plots import figure_of, legend_right, plain
from experiments.report.style import FAINT, WARN, line_style, marker, series_colour
from experiments.report.views import LIMITED, apart, held, load_columns, middle, named
from experiments.result.schema import ArrayUse, Knee, Point, Result, Run, Steady
from experiments.result.steady import RULE
from experiments.workload import About, Figure
from experiments.workloads import about


@section("points", "The points")
def points(result: Result) -> Parts:
    """Show the figures of every point with their intervals, and whether the generator limited it."""
    workload = about(result.workload)
    alike = [
        result.points[0].at.on(name) for name in _alike(result) if isinstance(result.points[0].at.values()[name], int)
    ]
    return (
        tabled("points", point_columns(result, workload), result.points, mark=lambda point: bool(point.marks)),
        *([note(f"Every point has {words.listed(alike)}.")] if alike else []),
        note(_intervals(result)),
        _reasons(result),
        note(_rule(workload)),
    )


def point_columns(result: Result, workload: About) -> list[Column[Point]]:
    """Return the columns of the points. A part of the load that is the same for all of them has a column in the CSV
    only."""
    loads, alike = result.points[0].at.values(), _alike(result)
    return [
        *(
            _of_load(name, None if name in alike else name, text=isinstance(value, str))
            for name, value in loads.items()
        ),
        Column("repeats", "repeats", lambda point: len(point.repeats)),
        *(column for figure in workload.figures for column in _of_figure(figure)),
        Column("", f"{workload.makers}' CPU", lambda point: middle(point.repeats).worker_cpu, words.percent),
        Column("", "labels", lambda point: ", ".join(point.marks), text=True),
        Column("generator_limited", None, lambda point: int(point.limited)),
    ]


def _alike(result: Result) -> list[str]:
    """Return the fields of the load that have one value at all points, in their order."""
    first, *others = (point.at.values() for point in result.points)
    return [
        name
        for name, value in first.items()
        if others and name != result.axis and all(load[name] == value for load in others)
    ]


def _of_load(name: str, title: str | None, *, text: bool) -> Column[Point]:
    return Column(
        name, title, lambda point: point.at.values()[name], text=text, show=lambda point: str(point.at.shown()[name])
    )


def _of_figure(one: Figure) -> tuple[Column[Point], ...]:
    """Return the median with the interval for the report; three columns for the CSV."""
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
        return note("No point was found to be limited by the generator, but no run has a null baseline to prove it.")
    return note("No point was limited by the generator.")


_SteadyRow = tuple[str, int, Steady]  # the point, the repeat, the interval


_STEADY: tuple[Column[_SteadyRow], ...] = (
    Column("point", "point", lambda row: row[0], text=True),
    Column("repeat", "repeat", lambda row: row[1]),
    Column("of", "of", lambda row: row[2].what, text=True),
    Column("start_s", None, lambda row: row[2].start_s),
    Column("seconds", "judged", lambda row: row[2].seconds, words.seconds),
    Column("rate", "per second", lambda row: row[2].rate, words.figure),
    Column("spread", "spread", lambda row: row[2].spread, words.percent),
    Column("drift", "drift", lambda row: row[2].drift, words.signed),
    Column(
        "",
        "95 % interval of the drift",
        lambda row: f"{words.signed(row[2].drift_low)} to {words.signed(row[2].drift_high)}",
    ),
    Column("drift_low", None, lambda row: row[2].drift_low),
    Column("drift_high", None, lambda row: row[2].drift_high),
    Column("steady", "", lambda row: int(row[2].steady), lambda steady: "" if steady else "not steady", text=True),
)


@section("steady", "Length and steady state")
def steadiness(result: Result) -> Parts:
    """Show a line for each interval of each run that is long enough."""
    rows = [
        (named(point, result), run.repeat + 1, one)
        for point in result.points
        for run in point.repeats
        for one in run.steady
    ]
    if not rows:
        return (paragraph(_length(result)), note("No interval is long enough."))
    shown = tabled("steady", _STEADY, rows, mark=lambda row: not row[2].steady)
    return (paragraph(_length(result)), shown, note(f"Steady: {RULE}."))


def _length(result: Result) -> str:
    shortest = min(run.elapsed_s for point in result.points for run in point.repeats)
    least = (result.conditions.get("steady_state") or {}).get("min_seconds")
    rule = f"; a result requires {words.seconds(least)} of each" if least is not None else ""
    short = [point for point in result.points if point.short]
    many = f" SHORT: {words.listed(named(point, result) for point in short)}." if short else ""
    return f"The shortest run took {words.seconds(shortest)}{rule}.{many} Points that are SHORT are not judged."


@section("knee", "Peak and knee under the latency bounds")
def knee(result: Result) -> Parts:
    """Plot p99 of each bounded op against the rate, a line for each setting."""
    if not result.knees_found:
        return "no latency bound was set (--max-p99 read=20ms sets one)."
    return (_plot(result, result.knees_found),)


def _plot(result: Result, knees: Sequence[Knee]) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    rate, axis = about(result.workload).headlines[0], result.axis
    groups = {", ".join(apart(peak, result)): peak.at.without(axis) for peak in (result.points[k.peak] for k in knees)}
    names = list(groups) if len(groups) > 1 else []
    with figure_of(len(knees[0].bounds_us), height=3.2) as (figure, panels):
        for number, (axes, (op, bound)) in enumerate(zip(panels, knees[0].bounds_us.items(), strict=True)):
            drawn = [(0.0, bound / 1000)]
            for place, (name, group) in enumerate(groups.items(), number):
                line = [
                    (point.figures[rate.name].median, middle(point.repeats).latency[op].p99_us / 1000, point.at.values()[axis])
                    for point in result.points if point.at.without(axis) == group and op in middle(point.repeats).latency
                ]  # fmt: skip
                axes.plot([x for x, _, _ in line], [p99 for _, p99, _ in line], color=series_colour(place),
                          linestyle=line_style(place), marker=marker(place), markersize=5, label=name)  # fmt: skip
                for x, p99, at in line:
                    axes.annotate(
                        str(at), (x, p99), xytext=(4, 4), textcoords="offset points", fontsize=8, color=FAINT.light
                    )
                    rows.append((*([name] if names else []), op, bound, at, x, p99 * 1000))
                drawn += [(x, p99) for x, p99, _ in line]
            axes.axhline(bound / 1000, color=WARN.light, linewidth=1, linestyle="--")
            axes.set_title(f"{op}, bound {plain(bound / 1000)} ms")
            axes.set_xlabel(rate.title)
            axes.set_ylabel("p99 (ms)" if number == 0 else "")
            axes.set_xlim(0, 1.1 * (max(x for x, _ in drawn) or 1.0))
            axes.set_ylim(0, 1.1 * max(p99 for _, p99 in drawn))
        if names:
            legend_right(panels[-1])
    header = (*(["load"] if names else []), "op", "bound_us", axis, rate.name, "p99_us")
    sentences = [_sentence(result, knee) for knee in knees]
    sentences = [f"{name}: {one}" for name, one in zip(names, sentences, strict=True)] if names else sentences
    sentence = f"{' '.join(sentences)} Numbers at the markers are {axis}."
    return plotted("knee", figure, sentence, header, rows)


def _sentence(result: Result, knee: Knee) -> str:
    rate = about(result.workload).headlines[0]
    peak = result.points[knee.peak]
    top = words.figure(peak.figures[rate.name].median)
    text = f"The peak is {top} {rate.title} with {peak.at.on(result.axis)}; "
    if knee.knee is None:
        text += "even the first point exceeds a bound"
    else:
        knee_point = result.points[knee.knee]
        kept = words.figure(knee_point.figures[rate.name].median)
        text += f"the last point within every bound is {named(knee_point, result)} with {kept}"
    return f"{text} ({knee.broken or 'no bound was exceeded'})."


_ArrayRow = tuple[Point, str, str, list[ArrayUse]]  # the point, the counter, its unit, and every run's


@section("array", "Counters of the array")
def array(result: Result) -> Parts:
    """Show for each point and counter the median of the runs' means, and the highest peak."""
    rows: list[_ArrayRow] = []
    for point in result.points:
        uses = sorted((use for run in point.repeats for use in run.array), key=_counter)
        rows += [(point, *counter, list(same)) for counter, same in itertools.groupby(uses, _counter)]
    columns: tuple[Column[_ArrayRow], ...] = (
        *load_columns(result, lambda row: row[0]),
        Column("", "point", lambda row: held(named(row[0], result)), text=True),
        Column("counter", "counter", lambda row: row[1], text=True),
        Column("unit", "unit", lambda row: row[2], text=True),
        Column("mean", "mean", lambda row: statistics.median(use.mean for use in row[3]), words.figure),
        Column("peak", "peak", lambda row: max(use.peak for use in row[3]), words.figure),
    )
    text = "Counted by the filer over each run, with its clock adjusted to this host's: neither calls nor wire ops."
    return tabled("array", columns, rows), note(text)


def _counter(use: ArrayUse) -> tuple[str, str]:
    return use.name, use.unit


@section("disclosure", "Full disclosure")
def disclosure(result: Result) -> Parts:
    """Show the conditions of the result, then all runs."""
    conditions = list(flattened(result.conditions))
    return tabled("conditions", _CONDITIONS, conditions, caption="Conditions"), _runs(result)


def flattened(data: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested mappings and lists as (dotted key, plain value), in their order; empty ones keep a row."""
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from flattened(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in data):
        for number, value in enumerate(data, 1):
            yield from flattened(value, f"{prefix}.{number}" if prefix else str(number))
    else:
        yield prefix, data


def _shown(value: object) -> Html | str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value) or "none"
    if isinstance(value, Mapping) or value == "":
        return "none"
    if isinstance(value, int) and value >= 10_000:
        return f"{value:,}"
    return str(value)


_CONDITIONS: tuple[Column[tuple[str, object]], ...] = (
    Column("condition", "condition", lambda row: row[0], lambda key: tag("code", key), text=True),
    Column("value", "value", lambda row: str(row[1]), text=True, show=lambda row: _shown(row[1])),
)
_Run = tuple[Run, Point]


def _runs(result: Result) -> Tabled:
    workload = about(result.workload)
    runs = sorted(((run, point) for point in result.points for run in point.repeats), key=lambda pair: pair[0].order)
    figures = [figure for figure in workload.figures if figure.name != "elapsed_s"]
    columns: list[Column[_Run]] = [
        Column("order", "order", lambda row: row[0].order, _from_one),
        *load_columns(result, lambda row: row[1]),
        Column("", "point", lambda row: held(named(row[1], result)), text=True),
        Column("repeat", "repeat", lambda row: row[0].repeat, _from_one),
        Column("started_at", "started (UTC)", lambda row: row[0].started_at,
               lambda at: f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S}"),
        Column("elapsed_s", "elapsed", lambda row: row[0].elapsed_s, words.seconds),
        *(Column(one.name, one.title, partial(_of_run, one.of), one.write, missing=one.missing) for one in figures),
        *(Column(name, name, partial(_of_run, of), lambda value: words.figure(value) if isinstance(value, float) else value) for name, of in workload.notes.items()),
    ]  # fmt: skip
    return tabled("runs", columns, runs, caption="All runs in the order of their start")


def _from_one(number: int) -> int:
    return number + 1


def _of_run(of: Callable[[Any], Cell], row: _Run) -> Cell:
    return of(row[0])


@section("tuning", "Settings")
def tuning(result: Result) -> Parts:
    """Show how far each setting of a `tune` came, and the comparison of the last one with the default."""
    found, rate = result.tuning, about(result.workload).headlines[0]
    assert found is not None  # of this kind alone

    def compared(point: Point) -> float | None:
        last = (found.best, found.default)
        values = rate.values(point.repeats[-found.compared :]) if result.points.index(point) in last else []
        return statistics.median(values) if values else None

    columns: tuple[Column[Point], ...] = (
        Column("setting", "setting", lambda point: point.at.on(result.axis), text=True),
        Column("rounds", "rounds", lambda point: sum(result.points.index(point) in one for one in found.rounds)),
        Column("repeats", "runs", lambda point: len(point.repeats)),
        Column(
            rate.name, f"{rate.title}, median of all runs", lambda point: point.figures[rate.name].median, rate.write
        ),
        Column(f"{rate.name}_compared", f"{rate.title}, runs of the comparison", compared, rate.write),
    )
    rule = (
        f"Successive halving: {words.many(len(found.rounds), 'round')}, each with twice the repeats of the one "
        f"before; the better half is kept. Then the remaining setting and the default were run {found.compared} "
        "more times, in random order. The gain is computed from these runs only, because those of the rounds "
        "favour lucky settings."
    )
    return tabled("tuning", columns, result.points, mark=lambda point: result.points.index(point) == found.best), note(
        rule
    )
