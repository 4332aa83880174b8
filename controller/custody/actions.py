"""Operator actions: each is written in the transaction that does it, and carries a hash over itself and the one before."""

from __future__ import annotations

import heapq
import json
import os
import pwd
import re
import socket
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from controller.databases import JobHandle
from core.document import Document
from sql.custody import CUSTODY
from sql.figures import FIGURES

if TYPE_CHECKING:
    from sqlalchemy import Connection

CREATED, PAUSED, RESUMED, CANCELLED, REQUEUED = "created", "pause", "resume", "cancel", "requeue"
SUSPENDED = "suspended"


class Action(Document):
    """Who did what, and when by the database's clock."""

    at: datetime
    who: str
    action: str
    details: dict[str, Any]
    chain: str | None = Field(
        description="sha256 over this action and the hash of the one before, in hex; null for actions of versions without hashes."
    )
    hashed: str = Field(
        description="The text that is hashed after the hash of the action before: seconds since 1970, who, action and details."
    )
    broken: bool = Field(description="Whether this action or the one before was changed after it was recorded.")


def note(conn: Connection, job: uuid.UUID, action: str, **details: Any) -> None:
    """Write down that the operator does this to a job, whose row stays locked: actions have one order."""
    FIGURES.lock_job(conn, job=job)
    CUSTODY.note_action(
        conn, job=job, who=operator(), action=action, details=json.dumps(details, ensure_ascii=False, default=str)
    )


def note_end_of_suspension(conn: Connection, job: uuid.UUID, action: str) -> None:
    """Write down this action, which ends a suspension, after the suspension itself, if the job is suspended.

    It is not written down when it begins: on a full disk no row can be added, and a worker may not write to the list.
    """
    FIGURES.lock_job(conn, job=job)
    if suspension := CUSTODY.suspension(conn, job=job):
        note(conn, job, SUSPENDED, reason=suspension.reason, since=suspension.since.isoformat())
    note(conn, job, action)


def last_chain(conn: Connection, job: uuid.UUID) -> str | None:
    """The hash of the job's last action, in hex; None where it has none. Anyone who kept its list can compare them."""
    rows = CUSTODY.list_actions(conn, job=job)
    return bytes(rows[-1].chain).hex() if rows and rows[-1].chain is not None else None


def actions_of(handles: Sequence[JobHandle]) -> list[Action]:
    """Who did what, oldest first; the actions on one job in the order of its chain, whatever their times."""
    return list(heapq.merge(*map(_actions, handles), key=lambda action: action.at))


def _actions(handle: JobHandle) -> list[Action]:
    with handle.database.transaction() as conn:
        rows = CUSTODY.list_actions(conn, job=handle.id)
    # What has no hash is older than hashes are; then the job's creation was not written down. Before that nothing can have been.
    sure = any(row.action == CREATED for row in rows)
    return [
        Action(
            at=row.at, who=row.who, action=row.action, details=dict(row.details), hashed=row.hashed,
            chain=None if row.chain is None else bytes(row.chain).hex(),
            broken=(row.begun or sure) and (row.chain is None or bytes(row.chain) != bytes(row.told)),
        )
        for row in rows
    ]  # fmt: skip


_ACTING: ContextVar[str] = ContextVar("edbench_operator")
_NAME = re.compile(r"[\w.@\\-]{1,64}\$?")  # of a login; nothing else of the environment gets into a list


def operator() -> str:
    """The caller set by `acting`; else the name of the user that the process runs as and the host's, the user's number
    where it has no name. The user that sudo acts for follows in parentheses. `LOGNAME` and `USER` are not used: any
    user can set them."""
    said = _ACTING.get("")
    if said:
        return said
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = f"uid {os.geteuid()}"
    caller = os.environ.get("SUDO_USER", "")
    behind = f" (sudo: {caller})" if caller != name and _NAME.fullmatch(caller) else ""
    return f"{name}@{socket.gethostname()}{behind}"


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Set another caller for this context: that of a request."""
    token = _ACTING.set(who)
    try:
        yield
    finally:
        _ACTING.reset(token)
