"""Results of experiments for people: the verdict first, then a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from cli.output import table
from controller.labels.advice import advice_on
from experiments.result.schema import Point, Result
from experiments.result.statistics import METHOD, interval_text
from experiments.workload import About, Figure
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
    columns = ("runs", *(figure.title for figure in workload.columns), "labels")
    for names, points in _grouped(result.points).items():
        if names:
            console.print(", ".join(names), markup=False)
        load = [name for name, value in points[0].at.values().items() if not isinstance(value, str)]
        rows = [_point_row(point, workload) for point in points]
        plain = [number for number, figure in enumerate(workload.columns, len(load) + 1) if not figure.unit]
        console.print(table((*load, *columns), rows, right=[*range(len(load) + 1), *plain]))
    console.print(f"\nfigures: {METHOD}", markup=False, soft_wrap=True)
    for point in result.points:
        for reason in point.limits:
            console.print(f"GENERATOR-LIMITED at {point.at}: {reason}", markup=False, soft_wrap=True)
    for warning in result.warnings:
        console.print(f"note: {warning}", markup=False, soft_wrap=True)


def _grouped(points: Sequence[Point]) -> dict[tuple[str, ...], list[Point]]:
    """By what of their load are names, such as a storage's."""
    out: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        out.setdefault(tuple(value for value in point.at.values().values() if isinstance(value, str)), []).append(point)
    return out


def _point_row(point: Point, workload: About) -> tuple[object, ...]:
    numbers = [name for name, value in point.at.values().items() if not isinstance(value, str)]
    return (
        *(point.at.shown()[name] for name in numbers),
        len(point.repeats),
        *(_figure(point, figure) for figure in workload.columns),
        ", ".join(point.marks),
    )


def _figure(point: Point, figure: Figure) -> str:
    """The interval is on a line of its own where each number has its unit."""
    estimate = point.figures.get(figure.name)
    if estimate is None:
        return figure.missing
    said = interval_text(estimate, figure.write)
    return said.replace(" [", "\n[", 1) if figure.unit else said
