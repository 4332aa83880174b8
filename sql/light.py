"""A database over the driver alone, for commands that read: SQLAlchemy takes longer to come than most of their answers.

The statements, their faces and what a fault means are those of every other way here; only the connection is another, with as
much of SQLAlchemy's as statements use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, count, islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg2
from psycopg2.extras import NamedTupleCursor, register_uuid

from sql.session import Database

if TYPE_CHECKING:
    from sqlalchemy import Connection

_STREAMS = count()  # a stream's name on the server


class LightDatabase(Database):
    """A database for statements that are named (`sql.face`), in as many transactions at a time as are begun."""

    def __init__(self, name: str, url: str, **about: Any) -> None:
        super().__init__(name, url, **about)
        self._idle: list[Any] = []  # connections; taking and giving back are one step each, so threads may share it

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        try:
            raw = self._idle.pop()
        except IndexError:
            raw = self._connected()
        try:
            yield cast("Connection", LightConnection(raw))
            raw.commit()
        except BaseException:
            if not raw.closed:
                with suppress(psycopg2.Error):  # the other error is the one that shows what is wrong
                    raw.rollback()
            raise
        finally:
            if not raw.closed:
                self._idle.append(raw)  # for the next one

    def _connected(self) -> Any:
        said = _said(self.url)
        arguments = self._arguments(said.pop("options", ""))
        raw = psycopg2.connect(**said | arguments, cursor_factory=NamedTupleCursor)
        register_uuid(None, raw)  # type: ignore[no-untyped-call]
        return raw

    def dispose(self) -> None:
        """Close the idle connections; the next transaction opens a new one."""
        while self._idle:
            self._idle.pop().close()
        super().dispose()


def _said(url: str) -> dict[str, Any]:
    """The connection parameters of a URL, for the driver."""
    parts = urlsplit(url)
    named = {
        "user": parts.username,
        "password": parts.password,
        "host": parts.hostname,
        "port": parts.port,
        "dbname": parts.path[1:],
    }
    said = {name: unquote(str(value)) for name, value in named.items() if value}
    return said | {name: ",".join(values) for name, values in parse_qs(parts.query).items()}


class LightConnection:
    """What statements use of SQLAlchemy's connection."""

    def __init__(self, raw: Any, rows_at_once: int = 0) -> None:
        self.info: dict[str, Any] = {}
        self.connection = SimpleNamespace(dbapi_connection=raw)
        self._raw = raw
        self._rows_at_once = rows_at_once

    def execution_options(self, *, stream_results: bool, yield_per: int) -> LightConnection:
        """The same connection, on which results come through a cursor of the server's."""
        return LightConnection(self._raw, yield_per if stream_results else 0)

    def exec_driver_sql(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement; rows of a stream are fetched as they are read."""
        cursor = self._raw.cursor(f"rows_{next(_STREAMS)}" if self._rows_at_once else None)
        if self._rows_at_once:
            cursor.itersize = self._rows_at_once
        cursor.execute(sql, parameters or {})
        if not self._rows_at_once:
            return Rows(cursor, cursor if cursor.description else ())
        first = cursor.fetchmany(self._rows_at_once)  # before that the names of the columns are unknown
        return Rows(cursor, chain(first, cursor))


class Rows:
    """What a statement gave, to be read once."""

    def __init__(self, cursor: Any, rows: Iterable[Any]) -> None:
        self._cursor = cursor
        self._rows = rows

    @property
    def returns_rows(self) -> bool:
        """Whether it is a statement that has any."""
        return self._cursor.description is not None

    @property
    def rowcount(self) -> int:
        """How many it changed."""
        return int(self._cursor.rowcount)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def columns(self, *names: str) -> Rows:
        """The values of these columns of each row, in that order."""
        described = [column.name for column in self._cursor.description]
        places = [described.index(name) for name in names]
        return Rows(self._cursor, (tuple(row[at] for at in places) for row in self._rows))

    def scalars(self) -> Rows:
        """Of each row the first value."""
        return Rows(self._cursor, (row[0] for row in self._rows))

    def all(self) -> Sequence[Any]:
        """All of them."""
        return list(self._rows)

    def one_or_none(self) -> Any:
        """The one that there is; None where there is none. Raises LookupError where there are several."""
        found = list(islice(self._rows, 2))
        if len(found) > 1:
            raise LookupError("several rows, where one was expected")
        return found[0] if found else None

    def one(self) -> Any:
        """The one that there is; raises LookupError where there are none or several."""
        found = list(islice(self._rows, 2))
        if len(found) != 1:
            raise LookupError(f"{'several rows' if found else 'no row'}, where one was expected")
        return found[0]

    def scalar_one(self) -> Any:
        """The first value of the one row that there is; see `one`."""
        return self.one()[0]

    def scalar_one_or_none(self) -> Any:
        """The first value of the one row; None where there is none."""
        row = self.one_or_none()
        return None if row is None else row[0]
