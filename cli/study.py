"""Results of experiments for people: the verdict first, then a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from cli.output import table
from controller.labels.advice import advice_on
from experiments.result.schema import Point, Result
from experiments.result.statistics import METHOD
from experiments.workloads import about


def show_study(console: Console, result: Result) -> None:
    """Verdict, what to do about its labels, one line a point, why points are limited, notes."""
    workload = about(result.workload)
    console.print(result.verdict, markup=False, soft_wrap=True)
    for line in advice_on(result.labels):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    for outcome in result.bounds:
        console.print(outcome.line, markup=False, soft_wrap=True)
    console.print()
    from experiments.report.sections import point_columns  # draws: slow to come
    from experiments.report.words import gathered

    groups = _grouped(result.points)
    if len(groups) == len(result.points):  # a name for each point: they are a column of one table
        groups = {(): list(result.points)}
    columns = [
        one
        for one in point_columns(result, workload)
        if one.title is not None and (not one.text or one.title == "labels" or () in groups)
    ]
    right = [number for number, one in enumerate(columns) if not one.text]
    for names, points in groups.items():
        if names:
            console.print(", ".join(names), markup=False)
        rows = [[column.line(point) for column in columns] for point in points]
        console.print(table([one.title or "" for one in columns], rows, right=right))
    console.print(f"\nfigures: {METHOD}", markup=False, soft_wrap=True)
    for point in result.points:
        for reason in point.limits:
            console.print(f"GENERATOR-LIMITED at {point.at}: {reason}", markup=False, soft_wrap=True)
    for warning in gathered(result.warnings):
        console.print(f"note: {warning}", markup=False, soft_wrap=True)


def _grouped(points: Sequence[Point]) -> dict[tuple[str, ...], list[Point]]:
    """By what of their load are names, such as a storage's."""
    out: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        out.setdefault(tuple(value for value in point.at.values().values() if isinstance(value, str)), []).append(point)
    return out
