"""Storage calls a second over time, by worker count (R1's Figure 1, which counts filer operations)."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Cell, Part, Plot, Section, Series, missing, note
from experiments.report.plots import draw_line, drawing, legend_beside, new_figure, over_time, time_unit
from experiments.report.views import binned, spread
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.views import middle_run, point_name

ANCHOR, TITLE = "calls", "Calls a second over time, by worker count"
MOST_LINES = 6


def calls_over_time(result: Result) -> Section:
    """One line for each point, from its run of median elapsed time."""
    with_calls = [point for point in result.points if middle_run(point).series.calls_per_second]
    if not with_calls:
        return missing(ANCHOR, TITLE, "no run has call records by second.")
    shown = spread(with_calls, MOST_LINES)
    parts: list[Part] = [_plot(shown, result), note(
        "R1's Figure 1 shows filer operations a second; these are calls, what the storage layer did. One call can be no "
        "wire operation (a cache answered) or several, so the shapes may be compared and the numbers may not."
    )]  # fmt: skip
    if len(shown) < len(with_calls):
        parts.append(note(f"{len(shown)} of {len(with_calls)} points are drawn; the series on disk has the same ones."))
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def calls_of(run: Run) -> list[tuple[float, float]]:
    """(seconds, calls of all ops in that second), in order of time."""
    return sorted((at, float(sum(by_op.values()))) for at, by_op in run.series.calls_per_second)


def _plot(points: list[Point], result: Result) -> Plot:
    longest = max(middle_run(point).elapsed_s for point in points)
    length, unit = time_unit(longest)
    steps = set()
    with drawing():
        figure, (axes,) = new_figure()
        for number, point in enumerate(points):
            line, step = binned(calls_of(middle_run(point)))
            steps.add(step)
            draw_line(axes, line, number, point_name(point, result.points), length)
        over_time(axes, unit, "calls a second")
        legend_beside(axes)
    return Plot(name="calls", figure=figure, sentence=_sentence(points, result, max(steps)), series=_series(points))


def _sentence(points: list[Point], result: Result, step: int) -> str:
    said = []
    for point in points if len(points) <= 3 else [points[0], points[-1]]:
        calls = calls_of(middle_run(point))
        at, peak = max(calls, key=lambda sample: sample[1])
        mean = sum(count for _, count in calls) / max(middle_run(point).elapsed_s, 1.0)
        said.append(
            f"{point_name(point, result.points)}: {words.count(peak)} calls a second at the peak, "
            f"{words.seconds(max(0.0, at))} into the run, {words.count(mean)} on average"
        )
    averaged = f" Lines are means over {step} s; peaks are of single seconds." if step > 1 else ""
    return "; ".join(said) + "." + averaged


def _series(points: list[Point]) -> Series:
    ops = sorted({op for p in points for _, by_op in middle_run(p).series.calls_per_second for op in by_op})
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        run = middle_run(point)
        for at, by_op in run.series.calls_per_second:
            rows.append(
                (point.workers, point.slots, point.databases, run.repeat, at, *(by_op.get(op, 0) for op in ops))
            )
    header = ("workers", "slots", "databases", "repeat", "time_s", *(f"{op}_calls" for op in ops))
    return Series(name="calls", header=header, rows=tuple(rows))
