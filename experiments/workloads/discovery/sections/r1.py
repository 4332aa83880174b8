"""Tables and figures of report R1 with our points added, where both are the same quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.plain import grouped
from experiments.report import words
from experiments.report.parts import Cell, Column, Part, Parts, Plot, note, paragraph, plotted, section, tabled
from experiments.report.plots import counts_on_x, draw_line, figure_of, from_zero, over_time, plain, time_unit
from experiments.report.style import marker, series_colour
from experiments.report.views import binned, shouted
from experiments.result.schema import Estimate
from experiments.result.statistics import LEAST_REPEATS, LEVEL, estimate, ratio_of
from experiments.workloads.discovery.result import ELAPSED, RATE, RAW, Point, PointSpec, Result
from experiments.workloads.discovery.sections.over_time import calls_of
from experiments.workloads.discovery.views import (
    middle_run,
    over_longest_job,
    point_name,
    rate_over_longest_job,
    total,
)

LEAST_FILER_OPS_AN_ITEM = 70  # 70 million operations in the plateau alone, for about a million items


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRun:
    """One row of R1's tables, as printed."""

    databases: int
    workers: int
    elapsed_s: int
    before_gb: int
    after_gb: int
    gb_per_hour: float


_TEN = ReferenceRun(databases=1, workers=10, elapsed_s=23095, before_gb=45, after_gb=75, gb_per_hour=11.5)
_THIRTY = ReferenceRun(databases=1, workers=30, elapsed_s=17136, before_gb=45, after_gb=75, gb_per_hour=15.8)
_TWICE = ReferenceRun(databases=2, workers=30, elapsed_s=22934, before_gb=90, after_gb=150, gb_per_hour=23.6)
SCALE_UP, SCALE_OUT = (_TEN, _THIRTY), (_THIRTY, _TWICE)


class R1Row(NamedTuple):
    """A row of R1's tables: one of its own, or one to compare with them."""

    whose: str
    databases: int
    workers: int
    elapsed: Estimate
    before: float
    after: float
    rate: Estimate
    gain: float


class R1Table(NamedTuple):
    """One of R1's tables, with our points below its rows."""

    title: str
    name: str
    reference: Sequence[ReferenceRun]
    points: Sequence[Point]
    rows: list[R1Row]


def _gb(value: float) -> str:
    return str(value) if isinstance(value, int) else words.figure(value)


def _gain(gain: float) -> str:
    return f"{words.figure(gain)}×"


COLUMNS: tuple[Column[R1Row], ...] = (
    Column("whose", "whose", lambda row: row.whose, text=True),
    Column("databases", "databases", lambda row: row.databases),
    Column("workers", "workers", lambda row: row.workers),
    Column("elapsed_s", "elapsed", lambda row: row.elapsed, words.seconds),
    Column("gb_before", "GB before", lambda row: row.before, _gb),
    Column("gb_after", "GB after", lambda row: row.after, _gb),
    Column("gb_per_hour_discovered", "discovered GB/hour", lambda row: row.rate, words.figure),
    Column("gain", "over the first row", lambda row: row.gain, _gain),
)


@section("r1", "Report R1's tables compared with ours")
def r1_comparison(result: Result) -> Parts:
    """Show R1's tables with the points of a result below the rows of each."""
    parts: list[Part] = [paragraph(_quantity(result))]
    tables = r1_tables(result)
    for one in tables:
        parts.append(tabled(one.name, COLUMNS, one.rows, caption=one.title, mark=lambda row: row.whose == "R1"))
        parts.append(paragraph(_tables_sentence(one.reference, one.points)))
    if any(one.reference is SCALE_OUT for one in tables):
        parts += _copies(result)
    else:
        parts.append(
            note("Scale-out is not shown: this result has only one number of databases for each worker count.")
        )
    parts.append(
        note(
            "R1's rates are as printed; its first row would be 11.69 from its own sizes and time. Gains are "
            "computed from elapsed times. R1 does not say whether its sizes include index bytes, or whether GB or "
            "GiB is meant; ours exclude index bytes, and 1 GB is 10⁹ bytes."
        )
    )
    return tuple(parts)


def same_workers(points: Sequence[Point]) -> list[Point]:
    """Return the points of the (workers, slots, setting) that was run with the most different numbers of databases, if
    any."""
    groups = grouped(points, lambda point: (point.at.workers, point.at.slots, point.at.setting))
    best = max(groups.values(), key=lambda group: (len(group), group[0].at.workers))
    return sorted(best, key=lambda point: point.at.databases) if len(best) > 1 else []


def _copies(result: Result) -> list[Part]:
    """Report how several databases shared the work; nothing if the conditions do not contain it."""
    configuration = result.conditions.get("configuration")
    how = configuration.get("several_databases") if isinstance(configuration, dict) else None
    if not how:
        return []
    return [note(f"R1 does not say whether its two jobs read one copy of the source or two. Ours: {how}.")]


def _quantity(result: Result) -> str:
    sizes = [total(middle_run(point), "raw_bytes") for point in result.points]
    smallest, largest = min(sizes), max(sizes)
    span = words.size(smallest) if smallest == largest else f"{words.size(smallest)} to {words.size(largest)}"
    scale = 45e9 / smallest if smallest else 0.0
    labels = shouted(result)
    return (
        "The same quantity in both: GB after discovery over the elapsed time of the longest job. "
        f"Not the same scale: ours is {span} before discovery, R1's smallest is 45 GB"
        + (f" ({words.figure(scale, 2)} times as much)" if scale >= 1.5 else "")
        + ", on other hardware with other data. Compare gains, not rates."
        + (f" Ours is labelled: {words.listed(labels)}." if labels else "")
    )


def r1_tables(result: Result) -> list[R1Table]:
    """Return R1's tables for each setting. Scale-up: points with the fewest databases. Scale-out: points with the
    worker count that has most databases, if any."""
    found = []
    for number, setting in enumerate(dict.fromkeys(point.at.setting for point in result.points)):
        points = [point for point in result.points if point.at.setting == setting]
        suffix, name = f", {setting}" if setting else "", f"-{number + 1}" if number else ""
        least = min(point.at.databases for point in points)
        up = [point for point in points if point.at.databases == least]
        found.append(R1Table(f"Scale-up{suffix}", f"r1-scale-up{name}", SCALE_UP, up, _rows(SCALE_UP, up, result)))
        if out := same_workers(points):
            found.append(
                R1Table(f"Scale-out{suffix}", f"r1-scale-out{name}", SCALE_OUT, out, _rows(SCALE_OUT, out, result))
            )
    return found


def reference_rows(reference: Sequence[ReferenceRun]) -> list[R1Row]:
    """Return R1's own rows."""
    base = reference[0].after_gb / reference[0].elapsed_s
    return [
        R1Row("R1", run.databases, run.workers, estimate([run.elapsed_s]), run.before_gb, run.after_gb,
              estimate([run.gb_per_hour]), run.after_gb / run.elapsed_s / base)
        for run in reference
    ]  # fmt: skip


def _rows(reference: Sequence[ReferenceRun], ours: Sequence[Point], result: Result) -> list[R1Row]:
    rows = reference_rows(reference)
    first = over_longest_job(ours[0])[1].median
    for point in ours:
        elapsed, rate = over_longest_job(point)
        before, after = (total(middle_run(point), field) / words.GB for field in ("raw_bytes", "discovered_bytes"))
        whose = "; ".join(["ours", *dict.fromkeys([*shouted(result), *point.marks])])
        gain = rate.median / first if first else 0.0
        rows.append(R1Row(whose, point.at.databases, point.at.workers, elapsed, before, after, rate, gain))
    return rows


def _tables_sentence(reference: Sequence[ReferenceRun], ours: Sequence[Point]) -> str:
    first, last = reference[0], reference[-1]
    gain = (last.after_gb / last.elapsed_s) / (first.after_gb / first.elapsed_s)
    r1 = f"R1 gains {_gain(gain)} from {_step(first, last)}"
    a, b = ours[0], ours[-1]
    low, high = (over_longest_job(point)[1].median for point in (a, b))
    if a is b or not low:
        return f"{r1}; ours has only one point, so no gain."
    clause = f"{r1}; ours gains {_gain(high / low)} from {_step(a.at, b.at)}"
    return f"{clause}{caveat(a, b)}."


def caveat(a: Point, b: Point) -> str:
    """Return what the repeats of two points' discovered GB/hour say against a difference between them; nothing if they
    are enough and show it."""
    ratio = ratio_of(*([rate_over_longest_job(run) for run in point.repeats] for point in (b, a)))
    if ratio is None:
        return f"; fewer than {LEAST_REPEATS} repeats, which prove no difference"
    interval = f"{_gain(ratio.low)} to {_gain(ratio.high)}"
    return "" if ratio.p <= 1 - LEVEL else f"; the repeats show no difference ({interval})"


def _step(first: ReferenceRun | PointSpec, last: ReferenceRun | PointSpec) -> str:
    if first.databases != last.databases:
        return f"{first.databases} to {words.many(last.databases, 'database')} at {words.many(last.workers, 'worker')}"
    return f"{first.workers} to {words.many(last.workers, 'worker')}"


@section("sizes", "Sizes before and after, with GB/hour")
def sizes(result: Result) -> Parts:
    """Show bars of raw and discovered size, and of both rates, for each point."""
    rows: list[tuple[Cell, ...]] = []
    for point in result.points:
        run = middle_run(point)
        raw, after, index = (total(run, field) for field in ("raw_bytes", "discovered_bytes", "index_bytes"))
        key = (point.at.workers, point.at.slots, point.at.databases)
        rows.append((*key, raw, after, index, point.figures[RAW].median, point.figures[RATE].median))
    unit, length = ("GB", 1e9) if max(float(row[4] or 0) for row in rows) >= 1e9 else ("MB", 1e6)
    names = [point_name(point, result.points) for point in result.points]
    with figure_of(2, height=1.2 + 0.42 * len(rows), share_y=True) as (figure, (left, right)):
        for axes, before, after, scale in ((left, 3, 4, length), (right, 6, 7, 1.0)):
            for offset, column, label in ((-0.19, before, "raw"), (0.19, after, "discovered")):
                places = [number + offset for number in range(len(rows))]
                widths = [float(row[column] or 0) / scale for row in rows]
                drawn = axes.barh(places, widths, height=0.34, label=label, color=series_colour(int(offset > 0)))
                axes.bar_label(drawn, [words.figure(width) for width in widths], padding=3, fontsize=8)
            axes.margins(x=0.18)
            axes.set_xlim(left=0)
            axes.grid(visible=False, axis="y")
            axes.xaxis.set_major_formatter(lambda value, _: plain(value))
        left.set_yticks(range(len(rows)), names)
        left.invert_yaxis()
        left.set_xlabel(f"size ({unit})")
        right.set_xlabel("GB/hour")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    header = ("workers", "slots", "databases", "raw_bytes", "discovered_bytes", "index_bytes", "gb_per_hour_raw",
              "gb_per_hour_discovered")  # fmt: skip
    return (plotted("sizes", figure, _sizes_sentence(result), header, rows),)


def _sizes_sentence(result: Result) -> str:
    best = max(result.points, key=lambda point: point.figures[RATE].median)
    run = middle_run(best)
    raw, after, index = (total(run, field) for field in ("raw_bytes", "discovered_bytes", "index_bytes"))
    expansion = f"expansion {words.figure(after / raw)}×" if raw else "no expansion"
    return (
        f"{words.size(raw)} become {words.size(after)} ({expansion}; R1: 45 GB to 75 GB, 1.67×), the index of "
        f"{words.size(index)} not counted; the highest rate is {words.figure(best.figures[RATE].median)} discovered "
        f"GB/hour ({words.figure(best.figures[RAW].median)} raw) with {point_name(best, result.points)}."
    )


@section("one-or-two", "One against several databases")
def one_or_two(result: Result) -> Parts:
    """Show calls over time and discovered GB/hour by number of databases, at one number of workers."""
    points = same_workers(result.points)
    if not points:
        return "no number of workers was run with two different numbers of databases (use edbench bench scale-out)."
    return (_plot(points),)


def _plot(points: list[Point]) -> Plot:
    length, unit = time_unit(max(middle_run(point).elapsed_s for point in points))
    rows: list[tuple[Cell, ...]] = []
    with figure_of(2) as (figure, (left, right)):
        for number, point in enumerate(points):
            line, _ = binned(calls_of(middle_run(point)))
            draw_line(left, line, number, words.many(point.at.databases, "database"), length)
            rate = point.figures[RATE]
            low, high = (rate.median if bound is None else bound for bound in (rate.low, rate.high))
            right.errorbar([point.at.databases], [rate.median], yerr=[[rate.median - low], [high - rate.median]],
                           color=series_colour(number), marker=marker(number), markersize=6, capsize=4)  # fmt: skip
            rows.append(
                (point.at.databases, point.at.workers, point.figures[ELAPSED].median, rate.median, rate.low, rate.high)
            )
        over_time(left, unit, "calls a second")
        left.legend(loc="upper right")
        counts_on_x(right, [point.at.databases for point in points], "databases")
        right.set_ylabel("discovered GB/hour")
        from_zero(right)
    header = ("databases", "workers", "elapsed_s", "gb_per_hour_discovered", "low", "high")
    return plotted("one-or-two", figure, _databases_sentence(points), header, rows)


def _databases_sentence(points: list[Point]) -> str:
    first, last = points[0], points[-1]
    before, after = (point.figures[RATE].median for point in (first, last))
    sentence = (
        f"With {words.many(first.at.workers, 'worker')}, {words.many(last.at.databases, 'database')} instead of "
        f"{first.at.databases} change discovered GB/hour from {words.figure(before)} to {words.figure(after)},"
        f" {_gain(after / (before or 1.0))}"
    )
    return f"{sentence}{caveat(first, last)} (R1 with 30 workers, over its longest job's time: 1.49× from one to two)."
