"""Predictions for people: what they stand on, a line a point, the answer in words."""

from __future__ import annotations

from rich.console import Console

from cli.show.table import table
from experiments.capacity.answers import words_of
from experiments.capacity.forecast import Forecast
from experiments.capacity.predict import LEVEL, Prediction
from experiments.report import words


def show_prediction(console: Console, forecast: Forecast) -> None:
    """Assumptions, table, check, answer."""
    for line in forecast.assumptions:
        console.print(f"assumed: {line}", markup=False, soft_wrap=True)
    console.print()
    columns = (
        "databases",
        "workers",
        "elapsed",
        f"{LEVEL:.0%}",
        "GB/hour discovered",
        f"{LEVEL:.0%}",
        "limit",
        "by phase",
    )
    console.print(table(columns, [_row(point) for point in forecast.points], right=range(6)))
    check = forecast.agreement
    if check is not None:
        said = f"check at the last point, with random service and equal tasks: simulated {words.seconds(check.simulated_s)}"
        said += f", exact mean values {words.seconds(check.analysed_s)}, {abs(check.apart):.1%} apart"
        console.print(f"\n{said}", markup=False, soft_wrap=True)
    console.print()
    for line in forecast.answer:
        console.print(line, markup=False, soft_wrap=True)


def _row(point: Prediction) -> tuple[object, ...]:
    elapsed, rate = point.elapsed_s, point.gb_per_hour_discovered
    return (
        point.question.databases,
        point.question.workers,
        words.seconds(elapsed.value),
        elapsed.told(words.seconds),
        words.figure(rate.value),
        rate.told(words.figure),
        words_of(point.limit),
        ", ".join(f"{phase} {limit}" for phase, limit in point.by_phase.items()),
    )
