"""Latencies by op, load and stage of a run, and calls and bytes by kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from experiments.report import words
from experiments.report.parts import (
    Cell,
    Column,
    Part,
    Parts,
    Plot,
    Series,
    Tabled,
    note,
    paragraph,
    plotted,
    section,
    series,
    tabled,
)
from experiments.report.plots import Axes, counts_on_x, figure_of, legend_right, written
from experiments.report.style import line_style, marker, series_colour
from experiments.report.views import PERCENTILES, held, in_calls, percentiles, stage_means
from experiments.result.schema import Latency, SizedLatency
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.sections.r1 import LEAST_FILER_OPS_AN_ITEM
from experiments.workloads.discovery.views import KEYS, busiest, calls_by_op, middle_run, point_name, total, which_run

DATA_OPS = ("open", "read", "create", "write", "rename", "stat")


@section("latency", "Latency percentiles by op")
def latency(result: Result) -> Parts:
    """Show percentiles of the busiest point's median run, and how the p99 changes with load."""
    point = busiest(result)
    run = middle_run(point)
    if not run.latency:
        return "the run has no call records."
    every = [row for point in result.points for run in point.repeats for row in _rows(point, run)]
    every.sort(key=lambda row: not isinstance(row[3], Latency))  # sizes last
    shown = tabled("latency", _COLUMNS, list(_rows(point, run)), kept=every)
    parts: list[Part] = [_latency_plot(run.latency, which_run(point, result.points), shown.series), shown.table]
    if (text := in_calls(run.call_time)) is not None:
        parts.append(paragraph(text))
    loads = _line(result, point)
    if len(loads) > 1:
        parts.append(_against_load(loads))
    parts.append(note("Latencies are closed-loop: a slot makes its next call only when the last has returned. Percentiles "
                      "are at most 3.2 % off (histogram buckets), maxima are exact; failed calls are included. Calls that "
                      "moved bytes are also shown by size; the class of a call is that of the bytes it moved."))  # fmt: skip
    return tuple(parts)


def draw_ranges(axes: Axes, ops: Sequence[str], latencies: Mapping[str, Latency]) -> None:
    """Draw for each op a dot at p50, a bar to p95 and a thin line to p99, on a logarithmic axis of time."""
    for place, op in enumerate(ops):
        one = latencies.get(op)
        if one is None or not one.calls:
            continue
        p50, p95, p99 = (max(value, 0.5) for value in (one.p50_us, one.p95_us, one.p99_us))
        axes.plot([p50, p99], [place, place], color=series_colour(0), linewidth=1)
        axes.plot([p50, p95], [place, place], color=series_colour(0), linewidth=4, solid_capstyle="butt")
        axes.plot([p99], [place], color=series_colour(0), marker="|", markersize=8)
        axes.plot([p50], [place], color=series_colour(1), marker="o", markersize=5)
    axes.set_xscale("log")
    written(axes.xaxis, _tick, most=6)
    axes.set_yticks(range(len(ops)), list(ops))
    axes.set_ylim(len(ops) - 0.5, -0.5)
    axes.set_xlabel("latency")


def _tick(microseconds: float) -> str:
    for length, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= length:
            return f"{microseconds / length:g} {unit}"
    return f"{microseconds:g} µs"


def _latency_plot(latencies: Mapping[str, Latency], where: str, series: Series) -> Plot:
    ops = list(latencies)
    with figure_of(height=0.9 + 0.24 * len(ops)) as (figure, (axes,)):
        draw_ranges(axes, ops, latencies)
    slowest = max(latencies, key=lambda op: latencies[op].p99_us)
    often = max(latencies, key=lambda op: latencies[op].calls)
    sentence = (
        f"With {where}, {often} is made most often ({words.many(latencies[often].calls, 'call')}, "
        f"p50 {words.microseconds(latencies[often].p50_us)}, p99 {words.microseconds(latencies[often].p99_us)}); "
        f"{slowest} has the slowest p99, {words.microseconds(latencies[slowest].p99_us)}. "
        "Dot: p50; bar to p95; thin line to p99."
    )
    return Plot(name="latency", figure=figure, sentence=sentence, series=series)


_Row = tuple[Point, Run, str, Latency | SizedLatency]


def _rows(point: Point, run: Run) -> Iterator[_Row]:
    """Yield each op, then its calls by size."""
    for op, one in run.latency.items():
        yield point, run, op, one
        yield from ((point, run, f"{op} {size}", of) for size, of in one.sizes.items())


def latency_columns(place: int) -> tuple[Column[Any], ...]:
    """Return columns for rows that have the name of an op at this index and its latencies at the next."""

    def of(name: str) -> Callable[[Any], Cell]:
        return lambda row: getattr(row[place + 1], name, None)  # one size has no bytes, errors and maximum

    def percentile(name: str) -> Callable[[Any], Cell]:
        return lambda row: percentiles(row[place + 1], (name,))[0]

    return (
        Column("op", "op", itemgetter(place), text=True),
        Column("calls", "calls", of("calls"), words.count),
        Column("bytes", "bytes", of("bytes"), lambda size: words.size(size) if size else "–", missing=""),
        Column("errors", "errors", of("errors"), words.count, missing=""),
        *(Column(f"{name}_us", name, of(f"{name}_us"), show=percentile(name)) for name in PERCENTILES),
        Column("max_us", "max", of("max_us"), words.microseconds, missing=""),
    )


_COLUMNS: tuple[Column[_Row], ...] = (
    *KEYS,
    *latency_columns(2),
    Column("processor", None, lambda row: " ".join(getattr(row[3], "processor", ()))),
)


def _line(result: Result, point: Point) -> list[Point]:
    """Return the points that differ from this one in workers only."""
    alike = dataclasses.replace(point.at, workers=0)
    same = [p for p in result.points if dataclasses.replace(p.at, workers=0) == alike]
    return sorted((p for p in same if middle_run(p).latency), key=lambda p: p.at.workers)


def _against_load(points: list[Point]) -> Plot:
    present = [op for op in DATA_OPS if any(op in middle_run(point).latency for point in points)]
    rows: list[tuple[Cell, ...]] = []
    with figure_of() as (figure, (axes,)):
        for number, op in enumerate(present):
            line = [(p.at.workers, middle_run(p).latency[op].p99_us) for p in points if op in middle_run(p).latency]
            axes.plot([n for n, _ in line], [max(p99, 0.5) for _, p99 in line], color=series_colour(number),
                      linestyle=line_style(number), marker=marker(number), markersize=5, label=op)  # fmt: skip
            rows += [(op, workers, p99) for workers, p99 in line]
        axes.set_yscale("log")
        written(axes.yaxis, _tick, most=12, subs=(1, 2, 5))
        axes.set_ylabel("p99 latency")
        counts_on_x(axes, [point.at.workers for point in points], "workers")
        legend_right(axes)
    first, last = middle_run(points[0]).latency, middle_run(points[-1]).latency
    clauses = [
        f"{op} from {words.microseconds(first[op].p99_us)} to {words.microseconds(last[op].p99_us)}"
        for op in ("read", "write") if op in first and op in last
    ]  # fmt: skip
    sentence = (
        f"From {points[0].at.workers} to {words.many(points[-1].at.workers, 'worker')} the p99 changes: "
        f"{words.listed(clauses) or 'no read or write in both'}."
    )
    return plotted("latency-by-workers", figure, sentence, ("op", "workers", "p99_us"), rows)


STAGES = ("first third", "middle third", "last third")
_Line = tuple[str, list[float | None], str]  # what, its mean in each third, unit


@section("stages", "Latency and utilisation at three stages")
def stages(result: Result) -> Parts:
    """Show three thirds of the elapsed time of the busiest point's median run."""
    point = busiest(result)
    run = middle_run(point)
    if not any(run.series.latency_stages):
        return "the run has no call latencies by time."
    where = which_run(point, result.points)
    remark = (
        "R1 gives its filer's two units as 99 % and 60 % busy at 39,000 filer ops a second and mid-50 % and mid-40 "
        "% at 26,000; disk reads under 5 ms and writes at most 25 ms whatever the load. Those were measured inside "
        "the filer; ours are measured by its client, closed-loop."
    )
    return (_stages_plot(run, where), _utilisation(run), note(remark))


def _stages_plot(run: Run, where: str) -> Plot:
    thirds = run.series.latency_stages
    ops = [op for op in run.latency if any(op in third for third in thirds)]
    with figure_of(len(thirds), height=1.1 + 0.24 * len(ops), share_x=True, share_y=True) as (figure, panels):
        for axes, third, name in zip(panels, thirds, STAGES, strict=False):
            draw_ranges(axes, ops, third)
            axes.set_title(name)
    rows = [(name, op, one) for name, third in zip(STAGES, thirds, strict=False) for op, one in third.items()]
    columns: tuple[Column[tuple[str, str, Latency]], ...] = (
        Column("stage", "stage", lambda row: row[0]),
        *latency_columns(1),
    )
    return Plot(name="stages", figure=figure, sentence=_sentence(thirds, where), series=series("stages", columns, rows))


def _sentence(thirds: tuple[dict[str, Latency], ...], where: str) -> str:
    clauses = []
    for op in ("read", "write"):
        values = [third[op].p99_us if op in third else None for third in thirds]
        if any(value is not None for value in values):
            shown = (words.microseconds(value) if value is not None else "none" for value in values)
            clauses.append(f"the p99 of {op} is {', '.join(shown)} in the three thirds")
    what = words.listed(clauses) or "no read or write was made"
    return f"With {where}, {what}. Dot: p50; bar to p95; thin line to p99."


def _utilisation(run: Run) -> Tabled:
    """Show worker CPU and, with an emulated filer, utilisation and wait of each of its stations."""
    lines: list[_Line] = [("worker CPU, share of the host", stage_means(run.series.worker_cpu, run.elapsed_s), "share")]
    for station in sorted({name for _, by_station in run.series.filer for name in by_station}):
        for figure, unit in (("utilisation", "share"), ("wait_us", "us")):
            samples = [(at, by_station[station][figure]) for at, by_station in run.series.filer
                       if figure in by_station.get(station, {})]  # fmt: skip
            name = f"emulated filer, {station}: {'utilisation' if unit == 'share' else 'mean wait'}"
            lines.append((name, stage_means(samples, run.elapsed_s), unit))

    def shown(third: int, line: _Line) -> str:
        found = line[1][third]
        if found is None:
            return "no sample"
        return words.percent(found) if line[2] == "share" else words.microseconds(found)

    def of(third: int, name: str) -> Column[_Line]:
        return Column(name.replace(" ", "_"), name, lambda line: line[1][third], show=partial(shown, third))

    columns: tuple[Column[_Line], ...] = (
        Column("what", "utilisation", lambda line: line[0], text=True),
        Column("unit", None, lambda line: line[2]),
        *(of(third, name) for third, name in enumerate(STAGES)),
    )
    return tabled("utilisation", columns, lines)


@section("calls-an-item", "Calls an item")
def calls_an_item(result: Result) -> Parts:
    """Show calls by op over items, for each point."""
    counted = [(point, middle_run(point)) for point in result.points]
    counted = [(point, run) for point, run in counted if total(run, "items") and calls_by_op(run)]
    if not counted:
        return "no run has both items and call records."
    ops = dict.fromkeys(op for _, run in counted for op in calls_by_op(run))
    columns: tuple[Column[tuple[Point, Run] | None], ...] = (  # None: the row of report R1
        *KEYS[:-1],
        Column("", "run", lambda row: row and held(point_name(row[0], result.points)), text=True, missing="R1"),
        Column("items", "items", lambda row: row and total(row[1], "items"), words.count, missing="about 1 million"),
        Column("calls_an_item", "an item", lambda row: row and _an_item(row[1]), lambda calls: f"{words.figure(calls)} calls",
               missing=f"≥ {LEAST_FILER_OPS_AN_ITEM} filer ops"),
        *map(_of_op, ops),
    )  # fmt: skip
    shown = tabled("calls-an-item", columns, [*counted, None], kept=counted, mark=lambda row: row is None)
    first = _an_item(counted[0][1])
    sentence = (
        f"An item costs {words.figure(first)} calls on average with {point_name(counted[0][0], result.points)}. "
        f"R1's at least {LEAST_FILER_OPS_AN_ITEM} are filer operations, counted by the array: a different "
        "quantity, shown for the order of magnitude only. The array's own counters would be comparable."
    )
    return (shown, paragraph(sentence))


def _an_item(run: Run) -> float:
    return sum(calls_by_op(run).values()) / total(run, "items")


def _of_op(op: str) -> Column[tuple[Point, Run] | None]:
    def of(row: tuple[Point, Run] | None) -> float | None:
        return row and calls_by_op(row[1]).get(op, 0) / total(row[1], "items")

    return Column(f"{op}_an_item", op, of, lambda calls: words.figure(calls, 2))


@section("io", "Every kind of I/O")
def io_kinds(result: Result) -> Parts:
    """Show a line for each kind, then those of the block devices and mounts."""
    point = busiest(result)
    io: dict[str, Any] | None = middle_run(point).result.get("io")
    if io is None:
        return "the result was written by a version that did not record it."
    rows = [
        (one["kind"], "yes" if one["recorded"] else "no", one, one["when"], one["counted_by"]) for one in io["kinds"]
    ]
    rows += [
        (f"{one['kind']} {one['source']}", "beside", one, "within elapsed", "the kernel") for one in io["counters"]
    ]
    columns: tuple[Column[tuple[str, str, dict[str, Any], str, str]], ...] = (
        Column("kind", "kind", lambda row: row[0], text=True),
        Column("recorded", "recorded", lambda row: row[1], text=True),
        Column("read_bytes", "read", lambda row: row[2]["read_bytes"], words.size, missing="not counted"),
        Column("written_bytes", "written", lambda row: row[2]["written_bytes"], words.size, missing="not counted"),
        Column("when", "when", lambda row: row[3], text=True),
        Column("counted_by", "counted by", lambda row: row[4], text=True),
    )
    share = io["unrecorded_share"]
    unknown = "nothing is known" if share is None else f"{words.percent(share)} is unrecorded"
    return (
        paragraph(f"With {which_run(point, result.points)}, of the bytes that are known {unknown}."),
        tabled("io-kinds", columns, rows),
        note("The other lines are counted by the kernel for all programs on that host, without reads from its caches."),
    )
