"""Section: calls a second over time, beside what was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report import words
from experiments.report.palette import FAINT
from experiments.report.parts import Cell, Plot, Section, Series
from experiments.report.plots import draw_line, drawing, legend_beside, new_figure, over_time, time_unit
from experiments.report.views import binned, spread
from experiments.workloads.replay.result import ReplayPoint, ReplayResult, by_storage

ANCHOR = NAME = "timeline"
TITLE = "Calls a second over time, compared with the recorded ones"
_MOST_LINES = 5


def timeline(result: ReplayResult) -> Section:
    """For each storage a figure, with a line for the trace and one for each number of clients."""
    together = by_storage(result.points)
    names = [NAME] if len(together) == 1 else [f"{NAME}-{number}" for number in range(1, len(together) + 1)]
    parts = [
        _plot(result, storage, points, name) for name, (storage, points) in zip(names, together.items(), strict=True)
    ]
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def _samples(per_second: Sequence[int]) -> list[tuple[float, float]]:
    return [(float(second), float(calls)) for second, calls in enumerate(per_second)]


def _plot(result: ReplayResult, storage: str, points: Sequence[ReplayPoint], name: str) -> Plot:
    shown = spread(points, _MOST_LINES)
    trace = result.recorded
    longest = max([trace.elapsed_s, *(point.run.elapsed_s for point in result.points)])
    length, unit = time_unit(longest)
    with drawing():
        figure, (axes,) = new_figure(height=3.4)
        line, step = binned(_samples(trace.per_second))
        axes.fill_between([at / length for at, _ in line], [calls for _, calls in line], color=FAINT.light, alpha=0.25,
                          linewidth=0, label=_recorded(result, storage))  # fmt: skip
        for number, point in enumerate(shown):
            line, own = binned(_samples(point.run.per_second))
            step = max(step, own)
            draw_line(axes, line, number, point.at.on(result.axis), length)
        over_time(axes, unit, "calls a second", start="the start")
        axes.set_title(storage)
        legend_beside(axes)
    rows: list[tuple[Cell, ...]] = [
        (trace.emulated, "recorded", at, calls) for at, calls in enumerate(trace.per_second)
    ]
    for point in shown:
        rows += [(storage, point.load, at, calls) for at, calls in enumerate(point.run.per_second)]
    series = Series(name=name, header=("storage", "clients", "second", "calls"), rows=tuple(rows))
    sentence = f"{storage}: {_sentence(result, points, step)}"
    return Plot(name=name, figure=figure, sentence=sentence, series=series)


def _recorded(result: ReplayResult, storage: str) -> str:
    """Where it was recorded is said where that is not the storage of the figure."""
    there = result.recorded.emulated
    return f"recorded on\n{there}" if there and there != storage else "recorded"


def _sentence(result: ReplayResult, points: Sequence[ReplayPoint], step: int) -> str:
    recorded = result.recorded
    on = f" on {recorded.emulated}" if recorded.emulated else ""
    said = [f"recorded{on}: {words.count(recorded.calls)} calls in {words.seconds(recorded.elapsed_s)}"]
    for point in points if len(points) <= 3 else (points[0], points[-1]):
        said.append(
            f"{point.at.on(result.axis)}: {words.count(point.run.calls)} in {words.seconds(point.run.elapsed_s)}"
        )
    averaged = f" Lines are means over {step} s." if step > 1 else ""
    return "; ".join(said) + "." + averaged
