"""A connection inside a transaction, over the driver alone, and the rows that a statement returns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, islice
from typing import Any

_STREAMS = count()  # a stream's name on the server


class Connection:
    """One of the driver's connections, `raw`; `Database.transaction` begins and ends its transaction."""

    def __init__(self, raw: Any, rows_at_once: int = 0) -> None:
        self.raw = raw
        self._rows_at_once = rows_at_once

    def streaming(self, rows_at_once: int) -> Connection:
        """The same connection, whose results come through a cursor of the server, so many rows at a time."""
        return Connection(self.raw, rows_at_once)

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement; rows of a stream are fetched as they are read."""
        cursor = self.raw.cursor(f"rows_{next(_STREAMS)}" if self._rows_at_once else None)
        if self._rows_at_once:
            cursor.itersize = self._rows_at_once
        cursor.execute(sql, parameters or {})
        if not self._rows_at_once:
            return Rows(cursor, cursor if cursor.description else ())
        first = cursor.fetchmany(self._rows_at_once)  # before that the names of the columns are unknown
        return Rows(cursor, chain(first, cursor))


class Rows:
    """The result of a statement, to be read once; its rows are named tuples. `cursor` is the driver's."""

    def __init__(self, cursor: Any, rows: Iterable[Any]) -> None:
        self.cursor = cursor
        self._rows = rows

    @property
    def returns_rows(self) -> bool:
        """Whether the statement is one that returns rows."""
        return self.cursor.description is not None

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        return int(self.cursor.rowcount)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def columns(self, *names: str) -> Rows:
        """The values of these columns of each row, in that order."""
        described = [column.name for column in self.cursor.description]
        places = [described.index(name) for name in names]
        return Rows(self.cursor, (tuple(row[at] for at in places) for row in self._rows))

    def scalars(self) -> Rows:
        """The first value of each row."""
        return Rows(self.cursor, (row[0] for row in self._rows))

    def all(self) -> list[Any]:
        """All rows."""
        return list(self._rows)

    def one_or_none(self) -> Any:
        """The only row; None without one. Raises LookupError where there are several."""
        found = list(islice(self._rows, 2))
        if len(found) > 1:
            raise LookupError("several rows, where one was expected")
        return found[0] if found else None

    def one(self) -> Any:
        """The only row; raises LookupError where there are none or several."""
        row = self.one_or_none()
        if row is None:
            raise LookupError("no row, where one was expected")
        return row

    def scalar_one(self) -> Any:
        """The first value of the only row; see `one`."""
        return self.one()[0]

    def scalar_one_or_none(self) -> Any:
        """The first value of the only row; None without a row."""
        row = self.one_or_none()
        return None if row is None else row[0]
