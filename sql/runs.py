"""The databases of runs on a server, as its catalogue has them (`core.services.run_databases`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.crew.messages import RUN_DATABASE, database_name
from core.services.run_databases import RunMark, read_mark
from sql.queries import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


def marked_runs(conn: Connection) -> list[RunMark]:
    """The runs whose databases are marked."""
    marks = (read_mark(row.name, row.comment) for row in QUERIES["run_databases"].run(conn))
    return [mark for mark in marks if mark is not None]


def known_runs(conn: Connection) -> list[str]:
    """Every run that has a database on this server, marked or not."""
    names = (RUN_DATABASE.fullmatch(row.name) for row in QUERIES["run_databases"].run(conn))
    return [name[1] for name in names if name is not None]


def set_mark(conn: Connection, run: str, mark: RunMark | None) -> None:
    """Mark the run's database on the first server, or take the mark off. As its owner."""
    name = database_name(run, 1)
    assert RUN_DATABASE.fullmatch(name)
    text = "NULL" if mark is None else f"'{mark}'"
    conn.exec_driver_sql(f"COMMENT ON DATABASE {name} IS {text}".replace("%", "%%"))


def managed(conn: Connection, run: str) -> bool:
    """Whether a queue manager is connected to the run's database on the first server."""
    return bool(QUERIES["run_managed"].run(conn, database=database_name(run, 1)).scalar_one())
