"""Drawings that profiles of fio share."""

from __future__ import annotations

from experiments.report import words
from experiments.report.palette import marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series
from experiments.report.plots import counts_on_x, drawing, from_zero, legend_beside, new_figure
from experiments.result.schema import Result


def rate_by(result: Result, axis: str, group: str, figure: str, label: str) -> Section:
    """A line for each group: the median of a figure against what was varied, with its interval."""
    groups: dict[object, list[tuple[int, float, float, float]]] = {}
    for point in result.points:
        load, one = point.at.values(), point.figures.get(figure)
        if one is not None:
            low, high = (one.median if end is None else end for end in (one.low, one.high))
            groups.setdefault(load[group], []).append((load[axis], one.median, low, high))
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        drawn, (axes,) = new_figure(height=3.2)
        for number, (key, line) in enumerate(groups.items()):
            line = sorted(line)
            xs, ys = [x for x, *_ in line], [y for _, y, _, _ in line]
            around = ([y - low for _, y, low, _ in line], [high - y for _, y, _, high in line])
            axes.errorbar(xs, ys, yerr=around, color=series_colour(number), marker=marker(number), markersize=5, capsize=3,
                          label=f"{group} {key}")  # fmt: skip
            rows += [(str(key), *values) for values in line]
        counts_on_x(axes, [x for line in groups.values() for x, *_ in line], axis)
        axes.set_ylabel(label)
        from_zero(axes)
        if len(groups) > 1:
            legend_beside(axes)
    series = Series(name=f"{figure}-by-{axis}", header=(group, axis, figure, "low", "high"), rows=tuple(rows))
    best = max((y for line in groups.values() for _, y, _, _ in line), default=0.0)
    sentence = f"{label} by {axis}; the most is {words.figure(best)}. Bars are the intervals of the repeats, where there are any."
    plot = Plot(name=f"{figure}-by-{axis}", figure=drawn, sentence=sentence, series=series)
    return Section(anchor=f"by-{axis}", title=f"{label} by {axis}", parts=(plot,))
