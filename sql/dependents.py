"""Jobs that depend on others: what one takes items or files of stays as it is until it is over."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from core.errors import UsageError
from core.job_types import registered
from sql.faces.custody import CUSTODY

if TYPE_CHECKING:
    from sqlalchemy import Connection


COMPLETED, CANCELLED = "completed", "cancelled"  # actions that the product itself writes into a job's list


def ended(conn: Connection, job: uuid.UUID) -> dict[str, Any]:
    """What a job's types wrote down when it ended (`JobTypes.ended`); nothing for a job that did not end or has no such note."""
    actions = (row for row in reversed(CUSTODY.list_actions(conn, job=job)) if row.action in (COMPLETED, CANCELLED))
    return dict(next((row.details for row in actions), {}))


def users_of(conn: Connection, job: uuid.UUID, *, findings: bool = False) -> list[uuid.UUID]:
    """Jobs that are not over and take items or files of this one; `findings`: that use its duplicates."""
    return [user for types in registered().values() for user in types.users(conn, job, findings=findings)]


def kin_of(conn: Connection, job: uuid.UUID) -> set[uuid.UUID]:
    """Jobs whose list of actions notes that this one is deleted."""
    return {kin for types in registered().values() for kin in types.kin(conn, job)}


def refuse_taken(conn: Connection, job: uuid.UUID, instead: str) -> None:
    """Raises UsageError where another job uses this one, with what to do instead. Call it under the lock on the job's
    row, which the creator of such a job takes as well."""
    if users := users_of(conn, job):
        raise UsageError(f"job {users[0]} uses items or pages of job {job}; {instead}")
