"""What others take items or pages of stays as it is until they are over."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from core.errors import UsageError
from sql.face import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


def refuse_taken(conn: Connection, job: uuid.UUID, instead: str) -> None:
    """Under the lock on the job's row, which whoever creates such a job has as well. Raises UsageError with what to do
    instead."""
    if taking := QUERIES["production_of"].run(conn, job=job.hex).scalars().all():
        raise UsageError(f"job {taking[0]} uses items or pages of job {job}; {instead}")
