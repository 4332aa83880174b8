"""What was found of one item: the group of equals that it is in, texts that are nearly its own, and its thread."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from controller.databases import JobHandle
from core.document import Document
from review.kinds import By, ReviewKind
from review.looked_at import latest
from review.threads.tree import below_parents
from sql.faces.review import REVIEW
from sql.session import Database

Row = TypeVar("Row")
MOST = 500  # members that are told of a group or a thread


class Equal(Document):
    """An item of a group of equals."""

    item: uuid.UUID
    job: uuid.UUID
    copy_of: uuid.UUID | None  # the original; none of the original itself
    custodian: str
    container_path: tuple[str, ...]


class Near(Document):
    """An item of a group of near-duplicates; `similarity` to the principal, from 0 to 1."""

    item: uuid.UUID
    job: uuid.UUID
    near_to: uuid.UUID | None  # the principal; none of the principal itself
    similarity: float
    custodian: str
    container_path: tuple[str, ...]


class Message(Document):
    """A message of a thread; `parent` is the one that it answers, `depth` how many are above it, `sent_at` in UTC."""

    item: uuid.UUID
    job: uuid.UUID
    parent: uuid.UUID | None
    depth: int
    sent_at: str | None
    subject: str | None
    custodian: str
    container_path: tuple[str, ...]


def equals_of(handle: JobHandle, item: uuid.UUID, databases: Sequence[Database]) -> list[Equal]:
    """The item and its equals, the original first, MOST at most; empty where it has none. Where families were compared, the
    topmost items of those that are equal to the item's. For what is raised see `review.looked_at.latest`."""
    found = latest([handle], ReviewKind.DEDUPE, databases).options
    jobs, families = _jobs(found), found["by"] == By.FAMILY
    with handle.database.transaction() as conn:
        original = next(iter(REVIEW.original_of(conn, job=handle.id, item=item)), None)
    if original is None:
        return []
    rows = _everywhere(
        databases, lambda conn: REVIEW.equals_of(conn, jobs=jobs, original=original, families=families, limit=MOST)
    )
    rows.sort(key=lambda row: row.copy)
    return [
        Equal(
            item=row.item,
            job=row.job,
            copy_of=original if row.copy else None,
            custodian=row.custodian,
            container_path=tuple(row.container_path),
        )
        for row in rows[:MOST]
    ]


def near_of(handle: JobHandle, item: uuid.UUID, databases: Sequence[Database]) -> list[Near]:
    """The item and its near-duplicates, the principal first, then the more alike, MOST at most; empty where it has none.
    Raises as `equals_of`."""
    jobs = _jobs(latest([handle], ReviewKind.NEAR, databases).options)
    with handle.database.transaction() as conn:
        principal = next(iter(REVIEW.principal_of(conn, job=handle.id, item=item)), None)
    if principal is None:
        return []
    rows = _everywhere(databases, lambda conn: REVIEW.near_of(conn, jobs=jobs, principal=principal, limit=MOST))
    rows.sort(key=lambda row: (row.near, -row.similarity))
    return [
        Near(
            item=row.item,
            job=row.job,
            near_to=principal if row.near else None,
            similarity=row.similarity,
            custodian=row.custodian,
            container_path=tuple(row.container_path),
        )
        for row in rows[:MOST]
    ]


def thread_of(handle: JobHandle, item: uuid.UUID, databases: Sequence[Database]) -> list[Message]:
    """The thread of a message, each message below the one that it answers, siblings by date; the first MOST by date, empty of
    what is no message. Raises as `equals_of`."""
    jobs = _jobs(latest([handle], ReviewKind.THREADS, databases).options)
    with handle.database.transaction() as conn:
        thread = next(iter(REVIEW.thread_with(conn, job=handle.id, item=item)), None)
    if thread is None:
        return []
    rows = _everywhere(databases, lambda conn: REVIEW.thread_of(conn, jobs=jobs, thread=thread, limit=MOST))
    rows.sort(key=lambda row: (row.sent_at is None, row.sent_at, row.depth))
    drawn = below_parents(rows[:MOST], lambda row: row.item, lambda row: row.parent)
    return [Message(**row._asdict() | {"container_path": tuple(row.container_path)}) for row in drawn]


def _everywhere(databases: Sequence[Database], ask: Callable[[Connection], Iterable[Row]]) -> list[Row]:
    """What each database answers; jobs that were looked at together may lie in several."""
    rows: list[Row] = []
    for database in databases:
        with database.transaction() as conn:
            rows += ask(conn)
    return rows


def _jobs(options: Mapping[str, Any]) -> list[uuid.UUID]:
    """The jobs that were looked at together."""
    return [uuid.UUID(job) for job in options["jobs"]]
