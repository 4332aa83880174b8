"""Rows that tests add by themselves, and the statements that a database is asked, counted: a promise about speed that holds
on a busy machine too."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from sql.connection import Connection, Rows
from sql.session import Database


def add_row(conn: Connection, table: str, **values: Any) -> None:
    """Insert one row; a dictionary is JSON."""
    given = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in values.items()}
    names, places = ", ".join(f'"{name}"' for name in given), ", ".join(f"%({name})s" for name in given)
    conn.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", given)


@contextmanager
def statements_of(database: Database) -> Iterator[list[str]]:
    """The statements in transactions of this object while the block lasts, in order."""
    seen: list[str] = []
    begin = database.transaction

    class Noting(Connection):
        def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Rows:
            seen.append(sql)
            return super().execute(sql, parameters)

    @contextmanager
    def noting(*, durable: bool = False) -> Iterator[Connection]:
        with begin(durable=durable) as conn:
            if durable:
                seen.append("SET LOCAL synchronous_commit = on")
            yield Noting(conn.raw)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "transaction", noting)
        yield seen
