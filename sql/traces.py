"""What the ledger knows of the calls that workers keep for a job's trace (traces)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.records import JobState
from sql.queries import QUERIES
from sql.workers import LIVE_SECONDS

if TYPE_CHECKING:
    from sqlalchemy import Connection


def over_among(conn: Connection, jobs: Sequence[uuid.UUID]) -> dict[uuid.UUID, float]:
    """Those of these jobs that are of this database and over, each with the database's clock (seconds since the epoch)
    at which it was. Of one that is being deleted nobody wants a trace any more."""
    rows = QUERIES["states_of_jobs"].run(conn, jobs=[str(job) for job in jobs])
    return {row.id: row.now for row in rows if JobState(row.state).over and row.state != JobState.DELETING.value}


def recorders(conn: Connection, job: uuid.UUID) -> dict[uuid.UUID, float]:
    """Incarnations of live workers that have done tasks of the job, each with when its last one was done."""
    rows = QUERIES["recorders_of_job"].run(conn, job=job, seconds=LIVE_SECONDS)
    return {row.incarnation: row.last for row in rows}
