"""Section: what was achieved of what was offered, and at which response time, level by level."""

from __future__ import annotations

from functools import partial

from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.palette import FAINT, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, Tabled, note
from experiments.report.plots import Axes, drawing, from_zero, new_figure, plain, written
from experiments.result.levels import told_levels
from experiments.result.schema import Level, Levels
from experiments.workloads.replay.result import ReplayResult

ANCHOR, TITLE = "levels", "Offered against achieved load, and response time"
_TIMES = {
    "response_mean_us": "response mean",
    "response_p50_us": "p50",
    "response_p99_us": "p99",
    "service_mean_us": "service mean",
    "service_p50_us": "p50",
    "service_p99_us": "p99",
}
_LINES = (
    ("response_p99_us", "response p99"),
    ("response_mean_us", "response mean"),
    ("service_mean_us", "service mean"),
)


def levels(result: ReplayResult, measured: Levels) -> Section:
    """A table, two panels, and how the one figure was made."""
    said = note(
        "Overall response time: the area under mean response time against achieved load, up to the last level before one that"
        " was not reached, divided by the load achieved there; below the lowest level its response time holds down to zero."
        f" A level is reached when no more than {words.percent(measured.tolerance)} of the offered calls a second are missing."
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(_table(result, measured), _plot(result, measured), said))


def _table(result: ReplayResult, measured: Levels) -> Tabled:
    def median(name: str, level: Level) -> float | None:
        figures = result.points[level.point].figures
        return figures[name].median if name in figures else None

    columns: tuple[Column[Level], ...] = (
        Column("percent", "level", lambda level: level.percent, "{} %".format),
        Column("offered_per_s", "offered", lambda level: level.offered, words.figure),
        Column("achieved_per_s", "achieved", lambda level: level.achieved, words.figure),
        Column("reached", "", lambda level: int(level.reached), lambda it: "" if it else "not reached", text=True),
        *(Column(name, title, partial(median, name), words.microseconds) for name, title in _TIMES.items()),
    )
    return tabled("levels", columns, measured.levels, caption="Calls a second", mark=lambda level: not level.reached)


def _plot(result: ReplayResult, measured: Levels) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (reached, times) = new_figure(2, height=3.4)
        _reached(reached, measured)
        for number, (name, title) in enumerate(_LINES):
            line = [(level.achieved, result.points[level.point].figures[name].median)
                    for level in measured.levels if name in result.points[level.point].figures]  # fmt: skip
            times.plot([x for x, _ in line], [max(y, 1.0) for _, y in line], color=series_colour(number),
                       marker=marker(number), markersize=5, label=title)  # fmt: skip
            rows += [(name, x, y) for x, y in line]
        times.set_yscale("log")
        written(times.yaxis, words.microseconds)
        times.set_xlabel("achieved calls a second")
        times.set_xlim(left=0)
        times.legend(loc="upper left")
    series = Series(name="levels-times", header=("time", "achieved_per_s", "us"), rows=tuple(rows))
    return Plot(name="levels", figure=figure, sentence=_sentence(measured), series=series)


def _reached(axes: Axes, measured: Levels) -> None:
    """Levels that were not reached are hollow; what was offered is the dotted line."""
    offered, achieved = ([getattr(level, name) for level in measured.levels] for name in ("offered", "achieved"))
    axes.plot([0, *offered], [0, *offered], color=FAINT.light, linewidth=1, linestyle=":")
    axes.plot(offered, achieved, color=series_colour(0), marker=marker(0), markersize=5)
    missed = [level for level in measured.levels if not level.reached]
    axes.plot([level.offered for level in missed], [level.achieved for level in missed], linestyle="none",
              marker=marker(0), markersize=5, markerfacecolor="white", color=series_colour(0))  # fmt: skip
    axes.set_title("achieved calls a second (dotted: offered)")
    axes.set_xlabel("offered calls a second")
    axes.xaxis.set_major_formatter(lambda value, _: plain(value))
    axes.set_xlim(left=0)
    from_zero(axes)


def _sentence(measured: Levels) -> str:
    said = told_levels(measured)
    hollow = " Hollow points were not reached." if not all(level.reached for level in measured.levels) else ""
    return f"{said[0].upper()}{said[1:]}.{hollow}"
