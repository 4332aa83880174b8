"""Readings from a CSV file with a time column."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from controller.arrays.mapping import ArrayMap, Column, CsvForm
from controller.arrays.readings import BadRow, Point, Readings, converted
from core.errors import UsageError
from core.reading import read_problem

ROWS = 2_000_000


def read_csv(path: Path, mapping: ArrayMap) -> Readings:
    """Every row that can be read. Raises UsageError when the file cannot be, or lacks a column of the map."""
    form = mapping.csv
    if form is None:
        raise UsageError("the map is for a Prometheus query; give no CSV file, or give a map with [csv]")
    try:
        with path.open(encoding=form.encoding, newline="") as lines:
            return _read(lines, path, form, mapping.columns)
    except LookupError as error:
        raise UsageError(f"{path}: the map names the encoding {form.encoding!r}, which does not exist") from error
    except (OSError, UnicodeError, csv.Error) as error:
        raise UsageError(read_problem(path, error)) from error


def _read(lines: TextIO, path: Path, form: CsvForm, columns: tuple[Column, ...]) -> Readings:
    for _ in range(form.skip_lines):
        next(lines, None)
    rows = csv.reader(lines, delimiter=form.delimiter)
    headings = [heading.strip() for heading in next(rows, [])]
    wanted = {name: _position(name, headings, path) for name in (form.time_column, *(c.origin for c in columns))}
    points: dict[Column, list[Point]] = {column: [] for column in columns}
    bad: list[BadRow] = []
    for count, row in enumerate(rows):
        if count >= ROWS:
            raise UsageError(f"{path} has over {ROWS:,} rows; cut out the job's time")
        if not any(cell.strip() for cell in row):
            continue
        try:
            at = _moment(_cell(row, wanted[form.time_column], form.time_column), form)
            values = list(_values(row, wanted, columns, form))
        except ValueError as error:
            bad.append(BadRow(rows.line_num + form.skip_lines, str(error)))
            continue
        for column, value in values:
            points[column].append((at, value))
    return Readings({column: converted(column, readings) for column, readings in points.items()}, tuple(bad))


def _position(name: str, headings: list[str], path: Path) -> int:
    if headings.count(name) != 1:
        several = "two columns" if name in headings else "no column"
        raise UsageError(f"{path} has {several} {name!r}; it has {', '.join(headings)[:300]}")
    return headings.index(name)


def _cell(row: list[str], position: int, name: str) -> str:
    if position >= len(row):
        raise ValueError(f"{len(row)} cells, none for {name}")
    return row[position].strip()


def _values(
    row: list[str], wanted: dict[str, int], columns: tuple[Column, ...], form: CsvForm
) -> Iterator[tuple[Column, float]]:
    """The row's values; an empty cell is no value and nothing wrong."""
    for column in columns:
        text = _cell(row, wanted[column.origin], column.origin)
        if not text:
            continue
        try:
            value = float(text if form.decimal == "." else text.replace(form.decimal, "."))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{column.origin}: {text[:40]!r} is not a number")
        yield column, value


def _moment(text: str, form: CsvForm) -> float:
    """Epoch seconds. Raises ValueError that says what is wrong."""
    try:
        if form.format in ("unix", "unix_ms"):
            at = float(text) / (1000 if form.format == "unix_ms" else 1)
            datetime.fromtimestamp(at, UTC)
            return at
        moment = datetime.fromisoformat(text) if form.format == "iso" else datetime.strptime(text, form.format)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text[:40]!r} is not a time of the form {form.format}") from None
    if moment.tzinfo is None:
        if form.zone is None:
            raise ValueError(f"{text[:40]!r} has no time zone, and the map has no zone")
        moment = moment.replace(tzinfo=form.zone)
    return moment.timestamp()
