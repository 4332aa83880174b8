"""Tables that are described once: the columns give the HTML, the CSV and the console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from experiments.report.markup import Html, table
from experiments.report.parts import Cell, Series, Tabled
from experiments.report.views import interval
from experiments.result.schema import Estimate
from experiments.result.statistics import interval_text

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column of a table of rows R."""

    name: str  # in the CSV, with the unit; empty: only shown
    title: str  # on the page, without the name's underscores; empty: only in the CSV
    of: Callable[[R], Cell | Estimate]  # the number; of an estimate the CSV has the median
    write: Callable[[Any], object] = str  # a number as it is shown
    text: bool = False  # set flush left

    def cell(self, row: R) -> Cell:
        """The value for the CSV."""
        value = self.of(row)
        return value.median if isinstance(value, Estimate) else value

    def html(self, row: R) -> object:
        """The value for the page: an estimate with its interval, nothing as a dash."""
        value = self.of(row)
        if isinstance(value, Estimate):
            return interval(value, self._written)
        return "–" if value is None else self.write(value)

    def line(self, row: R) -> str:
        """The value for the console."""
        value = self.of(row)
        return interval_text(value, self._written) if isinstance(value, Estimate) else str(self.html(row))

    def _written(self, value: float) -> str:
        return str(self.write(value))


def series(name: str, columns: Sequence[Column[R]], rows: Iterable[R]) -> Series:
    """The CSV of these rows."""
    kept = [column for column in columns if column.name]
    header = tuple(column.name for column in kept)
    return Series(name=name, header=header, rows=tuple(tuple(column.cell(row) for column in kept) for row in rows))


def shown(
    columns: Sequence[Column[R]], rows: Iterable[R], *, caption: str | None = None, marked: Iterable[int] = ()
) -> Html:
    """The HTML of these rows; those in `marked` (by number) stand out."""
    kept = [column for column in columns if column.title]
    text = frozenset(number for number, column in enumerate(kept) if column.text)
    cells = [[column.html(row) for column in kept] for row in rows]
    return table([column.title for column in kept], cells, caption=caption, text_columns=text, marked=frozenset(marked))


def tabled(
    name: str,
    columns: Sequence[Column[R]],
    rows: Sequence[R],
    *,
    caption: str | None = None,
    marked: Iterable[int] = (),
    more: Sequence[R] = (),
) -> Tabled:
    """The table and its CSV; `more` are rows that only the CSV has."""
    return Tabled(
        table=shown(columns, rows, caption=caption, marked=marked), series=series(name, columns, [*rows, *more])
    )
