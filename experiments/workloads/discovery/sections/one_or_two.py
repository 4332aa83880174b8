"""One against several databases with the same workers (R1's Figure 3)."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series, missing
from experiments.report.plots import counts_on_x, draw_line, drawing, from_zero, new_figure, time_unit
from experiments.report.style import marker, series_colour
from experiments.report.views import binned
from experiments.workloads.discovery.result import Point, Result
from experiments.workloads.discovery.sections.beside_r1 import caveat, same_workers
from experiments.workloads.discovery.sections.calls_over_time import calls_of
from experiments.workloads.discovery.views import middle_run

ANCHOR, TITLE = "one-or-two", "One against several databases"


def one_or_two(result: Result) -> Section:
    """Calls over time and discovered GB/hour by number of databases, at one number of workers."""
    points = same_workers(result.points)
    if not points:
        reason = (
            "no number of workers was run with two different numbers of databases (edbench bench scale-out does that)."
        )
        return missing(ANCHOR, TITLE, reason)
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(points),))


def _plot(points: list[Point]) -> Plot:
    length, unit = time_unit(max(middle_run(point).elapsed_s for point in points))
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (left, right) = new_figure(2)
        for number, point in enumerate(points):
            line, _ = binned(calls_of(middle_run(point)))
            draw_line(left, line, number, words.many(point.databases, "database"), length)
            rate = point.gb_per_hour_discovered
            low, high = (rate.median if bound is None else bound for bound in (rate.low, rate.high))
            right.errorbar([point.databases], [rate.median], yerr=[[rate.median - low], [high - rate.median]],
                           color=series_colour(number), marker=marker(number), markersize=6, capsize=4)  # fmt: skip
            rows.append((point.databases, point.workers, point.elapsed_s.median, rate.median, rate.low, rate.high))
        left.set_xlabel(f"time since the first claim ({unit})")
        left.set_ylabel("calls a second")
        left.set_xlim(left=0)
        from_zero(left)
        left.legend(loc="upper right")
        counts_on_x(right, [point.databases for point in points], "databases")
        right.set_ylabel("discovered GB/hour")
        from_zero(right)
    header = ("databases", "workers", "elapsed_s", "gb_per_hour_discovered", "low", "high")
    series = Series(name="one-or-two", header=header, rows=tuple(rows))
    return Plot(name="one-or-two", figure=figure, sentence=_sentence(points), series=series)


def _sentence(points: list[Point]) -> str:
    first, last = points[0], points[-1]
    gain = last.gb_per_hour_discovered.median / (first.gb_per_hour_discovered.median or 1.0)
    said = (
        f"With {words.many(first.workers, 'worker')}, {words.many(last.databases, 'database')} instead of "
        f"{first.databases} change discovered GB/hour from {words.figure(first.gb_per_hour_discovered.median)} to "
        f"{words.figure(last.gb_per_hour_discovered.median)}, {words.figure(gain)}×"
    )
    return f"{said}{caveat(first, last)} (R1 with 30 workers, over its longest job's time: 1.49× from one to two)."
