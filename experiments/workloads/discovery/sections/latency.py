"""Latency percentiles by op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from experiments.report import words
from experiments.report.parts import Cell, Column, Part, Plot, Section, Series, missing, note, paragraph, tabled
from experiments.report.plots import Axes, counts_on_x, drawing, legend_beside, new_figure, written
from experiments.report.style import line_style, marker, series_colour
from experiments.report.views import PERCENTILES, in_calls, percentiles
from experiments.result.schema import Latency, SizedLatency
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.views import KEYS, busiest, middle_run, which_run

ANCHOR, TITLE = "latency", "Latency percentiles by op"
DATA_OPS = ("open", "read", "create", "write", "rename", "stat")


def latency(result: Result) -> Section:
    """Percentiles of the busiest point's median run, and how the p99 changes with load."""
    point = busiest(result)
    run = middle_run(point)
    if not run.latency:
        return missing(ANCHOR, TITLE, "the run has no call records.")
    shown = tabled("latency", _COLUMNS, list(_rows(point, run)), kept=_every(result))
    parts: list[Part] = [_plot(run.latency, which_run(point, result.points), shown.series), shown.table]
    if (said := in_calls(run.call_time)) is not None:
        parts.append(paragraph(said))
    loads = _line(result, point)
    if len(loads) > 1:
        parts.append(_against_load(loads))
    parts.append(note("Latencies are closed-loop: a slot makes its next call only when the last has returned. Percentiles "
                      "are at most 3.2 % off (histogram buckets), maxima are exact; failed calls are included. Calls that "
                      "moved bytes are also shown by size; the class of a call is that of the bytes it moved."))  # fmt: skip
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def draw_ranges(axes: Axes, ops: Sequence[str], latencies: Mapping[str, Latency]) -> None:
    """For each op a dot at p50, a bar to p95 and a thin line to p99, on a logarithmic axis of time."""
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


def _plot(latencies: Mapping[str, Latency], where: str, series: Series) -> Plot:
    ops = list(latencies)
    with drawing():
        figure, (axes,) = new_figure(height=0.9 + 0.24 * len(ops))
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
    """Each op, then its calls by size."""
    for op, one in run.latency.items():
        yield point, run, op, one
        yield from ((point, run, f"{op} {size}", of) for size, of in one.sizes.items())


def _every(result: Result) -> list[_Row]:
    """Of all runs; sizes last."""
    rows = [row for point in result.points for run in point.repeats for row in _rows(point, run)]
    return sorted(rows, key=lambda row: not isinstance(row[3], Latency))


def latency_columns(place: int) -> tuple[Column[Any], ...]:
    """Of rows with the name of an op at this place, and its latencies at the next one."""

    def of(name: str) -> Callable[[Any], Cell]:
        return lambda row: getattr(row[place + 1], name, None)  # one size has no bytes, errors and maximum

    def percentile(name: str) -> Callable[[Any], Cell]:
        return lambda row: percentiles(row[place + 1], (name,))[0]

    return (
        Column("op", "op", itemgetter(place), text=True),
        Column("calls", "calls", of("calls"), words.count),
        Column("bytes", "bytes", of("bytes"), lambda size: words.size(size) if size else "–", missing=""),
        Column("errors", "errors", of("errors"), words.count, missing=""),
        *(Column(f"{name}_us", None, of(f"{name}_us")) for name in PERCENTILES),
        *(Column("", name, percentile(name)) for name in PERCENTILES),
        Column("max_us", "max", of("max_us"), words.microseconds, missing=""),
    )


_COLUMNS: tuple[Column[_Row], ...] = (
    *KEYS,
    *latency_columns(2),
    Column("processor", None, lambda row: " ".join(getattr(row[3], "processor", ()))),
)


def _line(result: Result, point: Point) -> list[Point]:
    """The points that differ from this one in workers only."""
    same = [p for p in result.points if (p.databases, p.slots) == (point.databases, point.slots)]
    return sorted((p for p in same if middle_run(p).latency), key=lambda p: p.workers)


def _against_load(points: list[Point]) -> Plot:
    present = [op for op in DATA_OPS if any(op in middle_run(point).latency for point in points)]
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure()
        for number, op in enumerate(present):
            line = [(p.workers, middle_run(p).latency[op].p99_us) for p in points if op in middle_run(p).latency]
            axes.plot([n for n, _ in line], [max(p99, 0.5) for _, p99 in line], color=series_colour(number),
                      linestyle=line_style(number), marker=marker(number), markersize=5, label=op)  # fmt: skip
            rows += [(op, workers, p99) for workers, p99 in line]
        axes.set_yscale("log")
        written(axes.yaxis, _tick, most=12, subs=(1, 2, 5))
        axes.set_ylabel("p99 latency")
        counts_on_x(axes, [point.workers for point in points], "workers")
        legend_beside(axes)
    first, last = middle_run(points[0]).latency, middle_run(points[-1]).latency
    said = [
        f"{op} from {words.microseconds(first[op].p99_us)} to {words.microseconds(last[op].p99_us)}"
        for op in ("read", "write") if op in first and op in last
    ]  # fmt: skip
    sentence = (
        f"From {points[0].workers} to {words.many(points[-1].workers, 'worker')} the p99 changes: "
        f"{words.listed(said) or 'no read or write in both'}."
    )
    series = Series(name="latency-by-workers", header=("op", "workers", "p99_us"), rows=tuple(rows))
    return Plot(name="latency-by-workers", figure=figure, sentence=sentence, series=series)
