"""The databases of runs on a server, as its catalogue has them (`core.services.run_databases`)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.crew import RUN_DATABASE, database_name
from core.records import JobState
from core.services.run_databases import RunMark, read_mark
from sql.face import QUERIES
from sql.workers import LIVE_SECONDS

if TYPE_CHECKING:
    from sqlalchemy import Connection


def over_among(conn: Connection, jobs: Sequence[uuid.UUID]) -> dict[uuid.UUID, float]:
    """Those of these jobs that are in this database and over, each with the database's clock when it was found over
    (seconds since the epoch). Jobs that are being deleted are omitted: their traces are no longer needed."""
    rows = QUERIES["states_of_jobs"].run(conn, jobs=[str(job) for job in jobs])
    return {row.id: row.now for row in rows if JobState(row.state).over and row.state != JobState.DELETING.value}


def recorders(conn: Connection, job: uuid.UUID) -> dict[uuid.UUID, float]:
    """Incarnations of live workers that have done tasks of the job, each with when its last one was done."""
    rows = QUERIES["recorders_of_job"].run(conn, job=job, seconds=LIVE_SECONDS)
    return {row.incarnation: row.last for row in rows}


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
