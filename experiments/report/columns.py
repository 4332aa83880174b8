"""Tables that are described once: their columns give the HTML, the CSV and the lines of the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from experiments.report.markup import table
from experiments.report.parts import Cell, Series, Tabled
from experiments.report.views import interval
from experiments.result.schema import Estimate
from experiments.result.statistics import interval_text

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column of a table whose rows are R."""

    name: str  # in the CSV, with the unit; empty: in the report only
    title: str | None  # in the report; None: in the CSV only
    of: Callable[[R], Cell | Estimate]  # the value; of an estimate the CSV has the median
    write: Callable[[Any], object] = str  # the value as it is shown
    text: bool = False  # set flush left
    missing: str = "–"  # in place of None

    def cell(self, row: R) -> Cell:
        """The value for the CSV."""
        value = self.of(row)
        return value.median if isinstance(value, Estimate) else value

    def html(self, row: R) -> object:
        """The value for the page: an estimate with its interval."""
        value = self.of(row)
        if isinstance(value, Estimate):
            return interval(value, lambda one: str(self.write(one)))
        return self.missing if value is None else self.write(value)

    def line(self, row: R) -> str:
        """The value for the console."""
        value = self.of(row)
        if isinstance(value, Estimate):
            return interval_text(value, lambda one: str(self.write(one)))
        return str(self.html(row))


def tabled(
    name: str,
    columns: Sequence[Column[R]],
    rows: Sequence[R],
    *,
    kept: Iterable[R] | None = None,
    caption: str | None = None,
    mark: Callable[[R], bool] = lambda _row: False,
) -> Tabled:
    """The table of these rows with its CSV, or the CSV of `kept`; rows for which `mark` is true are highlighted."""
    shown = [column for column in columns if column.title is not None]
    html = table(
        [column.title for column in shown],
        [[column.html(row) for column in shown] for row in rows],
        caption=caption,
        text_columns=frozenset(number for number, column in enumerate(shown) if column.text),
        marked=frozenset(number for number, row in enumerate(rows) if mark(row)),
    )
    return Tabled(table=html, series=series(name, columns, rows if kept is None else kept))


def series(name: str, columns: Sequence[Column[R]], rows: Iterable[R]) -> Series:
    """The CSV of these rows."""
    named = [column for column in columns if column.name]
    cells = tuple(tuple(column.cell(row) for column in named) for row in rows)
    return Series(name=name, header=tuple(column.name for column in named), rows=cells)
