"""Results of studies for people: the verdict first, then a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console

from cli.show.table import table
from controller.labels.advice import advice_on
from experiments.report import words
from experiments.result import significance
from experiments.result.compare import Cell, Comparison, Overall
from experiments.result.schema import Point, Result
from experiments.result.statistics import METHOD, interval_text
from experiments.workload import About, Figure
from experiments.workloads import about


def show_study(console: Console, result: Result) -> None:
    """Verdict, what to do about its labels, one line a point, why points are limited."""
    workload = about(result.workload)
    console.print(result.verdict, markup=False, soft_wrap=True)
    for line in advice_on(result.labels):
        console.print(f"  {line}", markup=False, soft_wrap=True)
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


def show_warnings(console: Console, result: Result) -> None:
    """What a reader must know before using the figures."""
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
    """The interval has a line of its own where each number has its unit beside it."""
    estimate = point.figures.get(figure.name)
    if estimate is None:
        return figure.missing
    said = interval_text(estimate, figure.write)
    return said.replace(" [", "\n[", 1) if figure.unit else said


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Each result's verdict under its number, then the points side by side."""
    for number, result in enumerate(comparison.results, 1):
        console.print(f"{number}  {result.run_id}: {result.verdict}", markup=False, soft_wrap=True)
    for line in comparison.unchecked:
        console.print(f"UNCHECKED  {line}", markup=False, soft_wrap=True)
    for line in comparison.differences:
        console.print(f"NOT COMPARABLE  {line}", markup=False, soft_wrap=True)
    for line in comparison.disclosed:
        console.print(f"note: {line}", markup=False, soft_wrap=True)
    console.print()
    for number, one in enumerate(comparison.overall, 1):
        console.print(f"{number}  {_overall(one)}", markup=False, soft_wrap=True)
    columns = list(comparison.rows[0].at)
    for figure in comparison.about.headlines:
        for number, result in enumerate(comparison.results, 1):
            columns.append(f"{number}: {figure.title}{' (emulated)' if _emulated(result) else ''}")
            if number > 1:
                columns.append(f"{number} against 1")
    rows = []
    for row in comparison.rows:
        values: list[object] = list(row.at.values())
        for figure in comparison.about.headlines:
            for number, cell in enumerate(row.cells, 1):
                values += [_cell(cell, figure), *([_against(cell, figure, comparison)] if number > 1 else [])]
        rows.append(tuple(values))
    console.print(table(columns, rows, right=range(len(comparison.rows[0].at))))
    console.print(f"\nfigures: {METHOD}\n{significance.METHOD}", markup=False, soft_wrap=True)


def _cell(cell: Cell | None, figure: Figure) -> str:
    estimate = cell.figures.get(figure.name) if cell is not None else None
    if cell is None or estimate is None:
        return "-"
    return " ".join([interval_text(estimate, figure.write), *cell.marks])


def _against(cell: Cell | None, figure: Figure, comparison: Comparison) -> str:
    said = cell.against_first.get(figure.name) if cell is not None else None
    if not said:
        return "-"
    return f"{said}{' (not comparable)' if comparison.differences else ''}"


def _overall(one: Overall | None) -> str:
    if one is None:
        return "no overall response time: not even the lowest level was reached"
    against = f"; against 1: {one.against_first}" if one.against_first else ""
    time = interval_text(one.response_us, words.microseconds)
    return f"overall response time {time} up to {one.up_to} % of a peak of {words.count(one.peak)} calls/s{against}"


def _emulated(result: Result) -> bool:
    return bool(result.conditions.get("emulated_filer"))


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Plain data, as `edbench compare --json` prints it: of each point its load, then each result's figures there."""
    main = comparison.about.headlines[0].name
    return {
        "results": [{"run_id": r.run_id, "verdict": r.verdict} for r in comparison.results],
        "differences": list(comparison.differences),
        "disclosed": list(comparison.disclosed),
        "unchecked": list(comparison.unchecked),
        **({"overall_response": msgspec.to_builtins(comparison.overall)} if comparison.overall else {}),
        "points": [
            row.at | {"cells": [None if cell is None else _plain(cell, main) for cell in row.cells]}
            for row in comparison.rows
        ],
    }


def _plain(cell: Cell, main: str) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(cell)
    against = plain["against_first"]
    return {**plain.pop("figures"), **plain, "against": against, "against_first": against.get(main, "")}
