"""The latency-load curve of kind `knee`, with its bounds."""

from __future__ import annotations

from experiments.report import words
from experiments.report.palette import FAINT, WARN, line_style, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, missing
from experiments.report.plots import drawing, new_figure, plain
from experiments.report.views import load, middle, named
from experiments.result.schema import Knee, Result
from experiments.workloads import about

ANCHOR, TITLE = "knee", "Peak and knee under the latency bounds"


def knee(result: Result) -> Section:
    """p99 of each bounded op against the rate."""
    if result.knee is None:
        return missing(ANCHOR, TITLE, "no latency bound was set (--max-p99 read=20ms sets one).")
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(result, result.knee),))


def _plot(result: Result, knee: Knee) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    rate = about(result.workload).headlines[0]
    with drawing():
        figure, panels = new_figure(len(knee.bounds_us), height=3.2)
        for number, (axes, (op, bound)) in enumerate(zip(panels, knee.bounds_us.items(), strict=True)):
            line = [
                (point.figures[rate.name].median, middle(point.repeats).latency[op].p99_us / 1000, point)
                for point in result.points if op in middle(point.repeats).latency
            ]  # fmt: skip
            axes.plot([x for x, _, _ in line], [p99 for _, p99, _ in line], color=series_colour(number),
                      linestyle=line_style(number), marker=marker(number), markersize=5)  # fmt: skip
            for x, p99, point in line:
                axes.annotate(str(point.at.values()[result.axis]), (x, p99), xytext=(4, 4), textcoords="offset points",
                              fontsize=8, color=FAINT.light)  # fmt: skip
            axes.axhline(bound / 1000, color=WARN.light, linewidth=1, linestyle="--")
            axes.set_title(f"{op}, bound {plain(bound / 1000)} ms")
            axes.set_xlabel(rate.title)
            axes.set_ylabel("p99 (ms)" if number == 0 else "")
            axes.set_xlim(0, 1.1 * max((x for x, _, _ in line), default=1.0))
            axes.set_ylim(0, 1.1 * max(bound / 1000, *(p99 for _, p99, _ in line)))
            rows += [(op, bound, point.at.values()[result.axis], x, p99 * 1000) for x, p99, point in line]
    series = Series(name="knee", header=("op", "bound_us", result.axis, rate.name, "p99_us"), rows=tuple(rows))
    return Plot(name="knee", figure=figure, sentence=_sentence(result, knee), series=series)


def _sentence(result: Result, knee: Knee) -> str:
    rate = about(result.workload).headlines[0]
    peak = result.points[knee.peak]
    top = words.figure(peak.figures[rate.name].median)
    text = f"The peak is {top} {rate.title} with {load(peak, result.axis)}; "
    if knee.knee is None:
        text += "even the first point exceeds a bound"
    else:
        knee_point = result.points[knee.knee]
        kept = words.figure(knee_point.figures[rate.name].median)
        text += f"the last point within every bound is {named(knee_point, result)} with {kept}"
    return f"{text} ({knee.broken or 'no bound was exceeded'}). Numbers at the markers are {result.axis}."
