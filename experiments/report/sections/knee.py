"""The latency-load curve of experiment `knee`, with its bounds."""

from __future__ import annotations

from experiments.report import words
from experiments.report.palette import FAINT, WARN, line_style, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, missing
from experiments.report.plots import drawing, new_figure, plain
from experiments.report.views import middle_run, point_name
from experiments.result import Knee, Result

ANCHOR, TITLE = "knee", "Peak and knee under the latency bounds"


def knee(result: Result) -> Section:
    """p99 of each bounded op against discovered GB/hour."""
    if result.knee is None:
        return missing(
            ANCHOR, TITLE, "no latency bound was set (edbench experiment knee --max-p99 read=20ms does that)."
        )
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(result, result.knee),))


def _plot(result: Result, found: Knee) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, panels = new_figure(len(found.bounds_us), height=3.2)
        for number, (axes, (op, bound)) in enumerate(zip(panels, found.bounds_us.items(), strict=True)):
            line = [
                (point.gb_per_hour_discovered.median, middle_run(point).latency[op].p99_us / 1000, point.workers)
                for point in result.points if op in middle_run(point).latency
            ]  # fmt: skip
            axes.plot([rate for rate, _, _ in line], [p99 for _, p99, _ in line], color=series_colour(number),
                      linestyle=line_style(number), marker=marker(number), markersize=5)  # fmt: skip
            for rate, p99, workers in line:
                axes.annotate(str(workers), (rate, p99), xytext=(4, 4), textcoords="offset points", fontsize=8,
                              color=FAINT.light)  # fmt: skip
            axes.axhline(bound / 1000, color=WARN.light, linewidth=1, linestyle="--")
            axes.set_title(f"{op}, bound {plain(bound / 1000)} ms")
            axes.set_xlabel("discovered GB/hour")
            axes.set_ylabel("p99 (ms)" if number == 0 else "")
            axes.set_xlim(0, 1.1 * max((rate for rate, _, _ in line), default=1.0))
            axes.set_ylim(0, 1.1 * max(bound / 1000, *(p99 for _, p99, _ in line)))
            rows += [(op, bound, workers, rate, p99 * 1000) for rate, p99, workers in line]
    header = ("op", "bound_us", "workers", "gb_per_hour_discovered", "p99_us")
    series = Series(name="knee", header=header, rows=tuple(rows))
    return Plot(name="knee", figure=figure, sentence=_sentence(result, found), series=series)


def _sentence(result: Result, found: Knee) -> str:
    peak = result.points[found.peak]
    said = (
        f"The peak is {words.figure(peak.gb_per_hour_discovered.median)} discovered GB/hour with "
        f"{point_name(peak, result.points)}; "
    )
    if found.knee is None:
        said += "not even the first point keeps every bound"
    else:
        last = result.points[found.knee]
        said += (
            f"the last point within every bound is {point_name(last, result.points)} with "
            f"{words.figure(last.gb_per_hour_discovered.median)}"
        )
    return f"{said} ({found.broken or 'no bound was broken'}). Numbers beside the markers are workers."
