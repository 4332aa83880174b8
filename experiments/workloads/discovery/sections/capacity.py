"""What more workers and databases would bring, by the capacity model, with the measured points on it."""

from __future__ import annotations

from matplotlib.axes import Axes

from core.errors import UsageError
from experiments.capacity.answers import words_of
from experiments.capacity.curve import Curve, Curves, curves
from experiments.capacity.predict import LEVEL
from experiments.report import words
from experiments.report.markup import table
from experiments.report.palette import line_style, marker, series_colour
from experiments.report.parts import Cell, Plot, Section, Series, Tabled, missing, note
from experiments.report.plots import counts_on_x, drawing, from_zero, new_figure
from experiments.workloads.discovery.result import Result

ANCHOR, TITLE = "capacity", "What more workers and databases would bring"


def capacity(result: Result) -> Section:
    """Predicted GB/hour against workers, a curve for each number of databases, and the limit on each stretch."""
    try:
        predicted = curves(result)
    except UsageError as reason:
        return missing(ANCHOR, TITLE, f"{reason}.")
    remark = note(
        f"Simulated from the calls and tasks of {words.listed(map(str, predicted.calibrated_on))} workers, on the same hosts "
        f"and with the same data set; bands are intervals of {LEVEL:.0%}. A model, not a measurement: "
        "docs/capacity-model.md lists what it omits."
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(predicted), _stretches(predicted), remark))


def _plot(curves: Curves) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure()
        for number, curve in enumerate(curves.curves):
            _draw(axes, number, curve)
            measured = {point.workers: point.gb_per_hour_discovered for point in curve.measured}
            for one in curve.predicted:
                rate, seen = one.gb_per_hour_discovered, measured.get(one.question.workers)
                spread = (None, None, None) if seen is None else (seen.median, seen.low, seen.high)
                low, high = rate.interval or (None, None)
                rows.append((curve.databases, one.question.workers, rate.value, low, high, one.limit, *spread))
        counts_on_x(axes, [one.question.workers for one in curves.curves[0].predicted], "workers")
        axes.set_ylabel("discovered GB/hour")
        from_zero(axes)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    header = ("databases", "workers", "predicted_gb_per_hour_discovered", "low", "high", "limit", "measured",
              "measured_low", "measured_high")  # fmt: skip
    series = Series(name="capacity", header=header, rows=tuple(rows))
    return Plot(name="capacity", figure=figure, sentence=_sentence(curves), series=series)


def _draw(axes: Axes, number: int, curve: Curve) -> None:
    workers = [one.question.workers for one in curve.predicted]
    rates = [one.gb_per_hour_discovered for one in curve.predicted]
    colour = series_colour(number)
    name = words.many(curve.databases, "database")
    low, high = zip(*(r.interval or (r.value, r.value) for r in rates), strict=True)
    axes.fill_between(workers, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(workers, [r.value for r in rates], color=colour, linestyle=line_style(number), label=f"{name}, predicted")
    _name_limits(axes, number, curve)
    if not curve.measured:
        return
    seen = [point.gb_per_hour_discovered for point in curve.measured]
    below = [0.0 if one.low is None else one.median - one.low for one in seen]
    above = [0.0 if one.high is None else one.high - one.median for one in seen]
    axes.errorbar([point.workers for point in curve.measured], [one.median for one in seen], yerr=[below, above],
                  color=colour, marker=marker(number), markersize=6, linestyle="none", capsize=3,
                  label=f"{name}, measured")  # fmt: skip


def _name_limits(axes: Axes, number: int, curve: Curve) -> None:
    """Each stretch's limit at its last point: below the first curve, above the others."""
    at = {one.question.workers: one.gb_per_hour_discovered.value for one in curve.predicted}
    for _, end, limit in curve.stretches():
        axes.annotate(limit, (end, at[end]), xytext=(-3, -11 if number == 0 else 5), textcoords="offset points",
                      ha="right", fontsize=7.5, color=series_colour(number))  # fmt: skip


def _sentence(curves: Curves) -> str:
    said = []
    for curve in curves.curves:
        end = curve.predicted[-1]
        rate = end.gb_per_hour_discovered
        said.append(
            f"{words.many(end.question.workers, 'worker')} on {words.many(curve.databases, 'database')} would reach "
            f"{words.figure(rate.value)} GB/hour ({rate.told(words.figure)})"
        )
    return f"{words.listed(said)}. Marks are measured, with their spread; words on a curve say what limits up to there."


def _stretches(curves: Curves) -> Tabled:
    rows: list[tuple[Cell, ...]] = []
    numbers: list[tuple[Cell, ...]] = []
    for curve in curves.curves:
        for first, last, limit in curve.stretches():
            span = f"{first}" if first == last else f"{first} to {last}"
            rows.append((curve.databases, span, words_of(limit)))
            numbers.append((curve.databases, first, last, limit))
    shown = table(("databases", "workers", "limit"), rows, text_columns=frozenset({1, 2}), caption="What limits where")
    header = ("databases", "workers_from", "workers_to", "limit")
    return Tabled(table=shown, series=Series(name="capacity-limits", header=header, rows=tuple(numbers)))
