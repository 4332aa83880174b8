"""The points of the experiment in one table."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import Html, table, tag
from experiments.report.parts import Section, Series, Tabled, note
from experiments.report.views import interval, middle_run
from experiments.result import Point, Result

ANCHOR, TITLE = "points", "The points"


def points(result: Result) -> Section:
    """Elapsed time and rates of every point, and whether the generator limited it."""
    rows, numbers = [], []
    for point in result.points:
        run = middle_run(point)
        rows.append(
            (
                point.workers,
                point.slots,
                point.databases,
                len(point.repeats),
                interval(point.elapsed_s, words.seconds),
                interval(point.gb_per_hour_raw, words.figure),
                interval(point.gb_per_hour_discovered, words.figure),
                _over_null(point),
                words.percent(run.worker_cpu),
                "GENERATOR-LIMITED" if point.limited else "",
            )
        )
        numbers.append(_numbers(point))
    header = (
        "workers",
        "slots each",
        "databases",
        "repeats",
        "elapsed",
        "raw GB/hour",
        "discovered GB/hour",
        "elapsed ÷ null storage",
        "worker CPU",
        "verdict",
    )
    marked = frozenset(number for number, point in enumerate(result.points) if point.limited)
    shown = table(header, rows, text_columns=frozenset({9}), marked=marked)
    series = Series(name="points", header=_HEADER, rows=tuple(numbers))
    return Section(
        anchor=ANCHOR,
        title=TITLE,
        parts=(Tabled(table=shown, series=series), note(_intervals(result)), _reasons(result)),
    )


def _over_null(point: Point) -> str:
    if point.null_elapsed_s is None or not point.null_elapsed_s.median:
        return "no pair"
    return f"{words.figure(point.elapsed_s.median / point.null_elapsed_s.median)}×"


def _intervals(result: Result) -> str:
    least = min(len(point.repeats) for point in result.points)
    if least == 1:
        return "A point with one repeat has no interval: differences between such points prove nothing."
    coverage = min(point.elapsed_s.coverage or 0.0 for point in result.points if len(point.repeats) == least)
    return (
        f"Medians of the repeats, under them the interval that holds the true median with a probability of "
        f"{words.percent(coverage)} (order statistics of {words.many(least, 'repeat')}; six or more give 95 %). "
        "Overlapping intervals are no difference. 1 GB is 10⁹ bytes."
    )


def _reasons(result: Result) -> Html:
    limited = [(point, reason) for point in result.points if point.limited for reason in point.limits]
    lines = [
        tag("li", f"{words.many(p.workers, 'worker')}, {words.many(p.databases, 'database')}: {reason}")
        for p, reason in limited
    ]
    if not lines:
        if all(point.null_elapsed_s is None for point in result.points):
            return note(
                "No point was found limited by the generator, but no run has a pair on null storage to tell by."
            )
        return note("No point was limited by the generator.")
    return tag("div", tag("p", "GENERATOR-LIMITED points say nothing about the storage:"), tag("ul", *lines))


_HEADER = (
    "workers", "slots", "databases", "repeats", "elapsed_s", "elapsed_low_s", "elapsed_high_s",
    "gb_per_hour_raw", "gb_per_hour_raw_low", "gb_per_hour_raw_high",
    "gb_per_hour_discovered", "gb_per_hour_discovered_low", "gb_per_hour_discovered_high",
    "null_elapsed_s", "generator_limited",
)  # fmt: skip


def _numbers(point: Point) -> tuple[str | int | float | None, ...]:
    spans = [point.elapsed_s, point.gb_per_hour_raw, point.gb_per_hour_discovered]
    null = point.null_elapsed_s
    return (
        point.workers,
        point.slots,
        point.databases,
        len(point.repeats),
        *(value for span in spans for value in (span.median, span.low, span.high)),
        null.median if null else None,
        int(point.limited),
    )
