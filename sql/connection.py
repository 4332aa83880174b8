"""A connection inside a transaction, over the driver alone, and the rows that a statement returns."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, count, islice
from typing import Any

_STREAMS = count()  # a stream's name on the server
_PLANS = count()  # a prepared statement's name on the server
_PLAN_SECONDS = 10.0
_PARAMETER = re.compile(r"%\((\w+)\)s((?:::\w+(?:\[\])?)?)")  # with its type, if the statement casts it


class Plans:
    """Statements that a session prepares when it runs them again, so that the server parses and plans them once.

    After ten seconds they are prepared again: a plan that was made for a table of a few rows may read all of it when it
    has grown, and the server makes another one only after its next ANALYZE."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._since = 0.0
        self._known: dict[str, str] = {}  # statement → text that executes it; empty: it ran once
        self._kept = False  # whether the server has plans that are forgotten here

    def sent_for(self, sql: str) -> str:
        """Return the text to send in place of a statement; its parameters are the same."""
        now = self._monotonic()
        if now - self._since > _PLAN_SECONDS:
            self.forget()
            self._since = now
        if sql not in self._known:
            self._known[sql] = ""
            return sql
        if self._known[sql]:
            return self._known[sql]
        name = f"plan_{next(_PLANS)}"
        found = dict(_PARAMETER.findall(sql))
        places = {parameter: f"${number}" for number, parameter in enumerate(found, 1)}
        prepare = f"PREPARE {name} AS {_PARAMETER.sub(lambda match: places[match[1]] + match[2], sql)}"
        given = ", ".join(f"%({parameter})s{kind}" for parameter, kind in found.items())
        self._known[sql] = f"EXECUTE {name} ({given})" if given else f"EXECUTE {name}"
        before, self._kept = "DEALLOCATE ALL; " if self._kept else "", False
        return f"{before}{prepare}; {self._known[sql]}"

    def forget(self) -> None:
        """Prepare each statement again: they are old, or after a failed transaction it is unknown which of them the
        server has."""
        self._kept = self._kept or any(self._known.values())
        self._known.clear()


class Connection:
    """A connection of the driver, `raw`; `Database.transaction` begins and ends its transaction."""

    def __init__(self, raw: Any, rows_at_once: int = 0) -> None:
        self.raw = raw
        self._rows_at_once = rows_at_once

    def streaming(self, rows_at_once: int) -> Connection:
        """The same connection, whose results are read through a cursor of the server, so many rows at a time."""
        return Connection(self.raw, rows_at_once)

    def repeated(self, sql: str) -> str:
        """Return the text to execute in place of a statement that is run often; see `Plans`."""
        return sql if self._rows_at_once or self.raw.plans is None else self.raw.plans.sent_for(sql)

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
        """Whether the statement returns rows."""
        return self.cursor.description is not None

    @property
    def rowcount(self) -> int:
        """Number of rows that the statement changed."""
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
        """The only row; None if there is none. Raises LookupError if there are several."""
        found = list(islice(self._rows, 2))
        if len(found) > 1:
            raise LookupError("several rows; one was expected")
        return found[0] if found else None

    def one(self) -> Any:
        """The only row. Raises LookupError if there are none or several."""
        row = self.one_or_none()
        if row is None:
            raise LookupError("no row; one was expected")
        return row

    def scalar_one(self) -> Any:
        """The first value of the only row; see `one`."""
        return self.one()[0]

    def scalar_one_or_none(self) -> Any:
        """The first value of the only row; None if there is none."""
        row = self.one_or_none()
        return None if row is None else row[0]
