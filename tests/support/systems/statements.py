"""What a database is asked, counted: a promise about speed that holds on a busy machine too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from sql.session import Database


@contextmanager
def statements_of(database: Database) -> Iterator[list[str]]:
    """The statements of every connection of this object while the block lasts, in order."""
    seen: list[str] = []

    def note(conn: Any, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool) -> None:
        seen.extend([statement] * (len(parameters) if executemany else 1))

    event.listen(database.engine(), "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(database.engine(), "before_cursor_execute", note)
