"""Deletes all rows of a job from a database, in short transactions, however many rows there are.

From the first transaction on the job is `deleting`, a state that only a further deletion ends: a deletion that was
interrupted continues where it stopped."""

from __future__ import annotations

import uuid
from typing import Any

from core.errors import UsageError
from core.job_types import registered
from core.records import JobState
from sql import models
from sql.connection import Connection
from sql.custody import CANCELLED, COMPLETED, CUSTODY
from sql.interface import QUERIES
from sql.models import production_file, production_item
from sql.session import Database

ROWS_AT_ONCE = 10_000
_LOOSE = (production_item.name, production_file.name, models.item.name)  # without a foreign key
_RESTING = (JobState.PAUSED, JobState.SUSPENDED)


def begin(conn: Connection, job: uuid.UUID) -> bool:
    """Mark the job as being deleted (make it durable); return False if it was already. Raises UsageError while it may
    still change."""
    row = QUERIES["lock_job"].run(conn, job=job).one_or_none()
    if row is None:
        raise UsageError(f"there is no job {job}; see `edbench job list`")
    state = JobState(row.state)
    if not (state.over or state in _RESTING):
        raise UsageError(f"job {job} is {state}; cancel it first: `edbench job cancel {job}`")
    QUERIES["set_state"].run(conn, job=job, state=JobState.DELETING.value)
    return state is not JobState.DELETING


def delete_rows(database: Database, job: uuid.UUID) -> None:
    """Delete every row of a marked job, its own last. Raises DatabaseFault; then call it again."""
    for table in _tables():
        if table == models.item.name:
            _items(database, job)
            continue
        # Table names are our own. By ctid, so that a table needs no index other than that by job.
        statement = (
            f"DELETE FROM {table} WHERE ctid = ANY(ARRAY("
            f"SELECT ctid FROM {table} WHERE job = %(job)s LIMIT {ROWS_AT_ONCE}))"
        )
        gone = ROWS_AT_ONCE
        while gone == ROWS_AT_ONCE:
            with database.transaction() as conn:
                gone = conn.execute(statement, {"job": job}).rowcount
    with database.transaction(durable=True) as conn:
        # A slot may have finished a task meanwhile; no foreign key deletes its rows.
        for table in (models.task.name, *_LOOSE):
            conn.execute(f"DELETE FROM {table} WHERE job = %(job)s", {"job": job})
        QUERIES["delete_job"].run(conn, job=job)
        QUERIES["forget_observations"].run(conn)


def _tables() -> list[str]:
    """The tables with rows of jobs: tasks first, so that no slot finishes any more, then the other tables, each before
    those that it refers to."""
    of_jobs = [table.name for table in reversed(models.metadata.sorted_tables) if "job" in table.c]
    return sorted(of_jobs, key=lambda name: name != models.task.name)


def _items(database: Database, job: uuid.UUID) -> None:
    """Delete the items in the order of their ids: a search for the first ones would scan all deleted ones each time."""
    after: uuid.UUID | None = uuid.UUID(int=0)
    while after is not None:
        with database.transaction() as conn:
            after = QUERIES["delete_items"].run(conn, job=job, after=after, limit=ROWS_AT_ONCE).scalar_one_or_none()


def ended(conn: Connection, job: uuid.UUID) -> dict[str, Any]:
    """Details that a job's types recorded when it ended (`JobTypes.ended`); empty for a job that did not end or has
    none."""
    actions = (row for row in reversed(CUSTODY.list_actions(conn, job=job)) if row.action in (COMPLETED, CANCELLED))
    return dict(next((row.details for row in actions), {}))


def users_of(conn: Connection, job: uuid.UUID, *, findings: bool = False) -> list[uuid.UUID]:
    """Jobs that are not over and take items or files of this one; `findings`: that use its duplicates."""
    return [user for types in registered().values() for user in types.users(conn, job, findings=findings)]


def kin_of(conn: Connection, job: uuid.UUID) -> set[uuid.UUID]:
    """Jobs whose list of actions notes that this one is deleted."""
    return {kin for types in registered().values() for kin in types.kin(conn, job)}


def refuse_taken(conn: Connection, job: uuid.UUID, instead: str) -> None:
    """Raise UsageError if another job uses this one; `instead`: what to do. Call it under the lock on the job's row,
    which the creator of such a job takes as well."""
    if users := users_of(conn, job):
        raise UsageError(f"job {users[0]} uses items or pages of job {job}; {instead}")
