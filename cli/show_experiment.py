"""Results of experiments for people: the verdict first, then a table."""

from __future__ import annotations

from rich.console import Console

from cli.table import table
from experiments.base import PointSpec
from experiments.compare import Cell, Comparison
from experiments.result import Point, Result
from experiments.statistics import METHOD, interval_text


def show_experiment(console: Console, result: Result) -> None:
    """Verdict, one line a point, warnings."""
    console.print(result.verdict, markup=False, soft_wrap=True)
    console.print()
    columns = ("databases", "workers", "slots", "runs", "elapsed s", "null s", "GB/hour discovered", "raw", "limit")
    console.print(table(columns, [_point_row(point) for point in result.points], right=range(8)))
    console.print(f"\nfigures: {METHOD}", markup=False, soft_wrap=True)
    for point in result.points:
        for reason in point.limits:
            console.print(f"GENERATOR-LIMITED at {_name(point)}: {reason}", markup=False, soft_wrap=True)
    for warning in result.warnings:
        console.print(f"note: {warning}", markup=False, soft_wrap=True)


def _name(point: Point) -> str:
    return str(PointSpec(point.databases, point.workers, point.slots))


def _point_row(point: Point) -> tuple[object, ...]:
    return (
        point.databases,
        point.workers,
        point.slots,
        len(point.repeats),
        interval_text(point.elapsed_s),
        "no pair" if point.null_elapsed_s is None else interval_text(point.null_elapsed_s),
        interval_text(point.gb_per_hour_discovered),
        interval_text(point.gb_per_hour_raw),
        "GENERATOR-LIMITED" if point.limited else "",
    )


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Each result's verdict under its number, then the points side by side."""
    for number, result in enumerate(comparison.results, 1):
        console.print(f"{number}  {result.run_id}: {result.verdict}", markup=False, soft_wrap=True)
    for line in comparison.differences:
        console.print(f"NOT COMPARABLE  {line}", markup=False, soft_wrap=True)
    for line in comparison.disclosed:
        console.print(f"note: {line}", markup=False, soft_wrap=True)
    console.print()
    columns = ["databases", "workers", "slots"]
    for number, result in enumerate(comparison.results, 1):
        columns.append(f"{number}: GB/hour discovered{' (emulated)' if _emulated(result) else ''}")
        if number > 1:
            columns.append(f"{number} against 1")
    rows = []
    for row in comparison.rows:
        values: list[object] = [row.databases, row.workers, row.slots]
        for number, cell in enumerate(row.cells, 1):
            values += [_figure(cell), *([_against(cell, comparison)] if number > 1 else [])]
        rows.append(tuple(values))
    console.print(table(columns, rows, right=range(3)))
    console.print(f"\nfigures: {METHOD}; intervals that overlap are no difference", markup=False, soft_wrap=True)


def _figure(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return interval_text(cell.gb_per_hour_discovered) + (" GENERATOR-LIMITED" if cell.limited else "")


def _against(cell: Cell | None, comparison: Comparison) -> str:
    if cell is None or not cell.against_first:
        return "-"
    return f"{cell.against_first}{' (not comparable)' if comparison.differences else ''}"


def _emulated(result: Result) -> bool:
    return result.conditions.get("emulated_filer") is not None
