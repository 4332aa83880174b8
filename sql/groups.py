"""Groups of jobs, one job a database; their rows lie in the first database. Each works in the caller's transaction."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from core.records import GroupKind
from sql import bulk, models
from sql.queries import QUERIES

_g = models.job_group.c


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One job of a group."""

    database: str
    job: uuid.UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group as the first database has it."""

    id: uuid.UUID
    name: str
    kind: GroupKind
    source: bytes  # absolute path of what was given
    source_copies: int
    members: tuple[GroupMember, ...]
    created_at: datetime.datetime


def create_group(
    conn: Connection,
    *,
    id: uuid.UUID,
    name: str,
    kind: GroupKind,
    source: bytes,
    source_copies: int,
    members: Sequence[GroupMember],
) -> None:
    """Its row; the jobs are there already. Make the transaction durable."""
    conn.execute(
        insert(models.job_group).values(
            id=id,
            name=bulk.storable(name),
            kind=kind.value,
            source=source,
            source_copies=source_copies,
            members=[{"database": member.database, "job": str(member.job)} for member in members],
        )
    )


def find_groups(conn: Connection, digits: str) -> list[GroupRow]:
    """Groups whose id begins with these hexadecimal digits (hyphens left out), at most three."""
    return [_row(row) for row in QUERIES["find_groups"].run(conn, prefix=digits)]


def list_groups(conn: Connection, limit: int = 1_000) -> list[GroupRow]:
    """Groups, newest first."""
    rows = conn.execute(select(models.job_group).order_by(_g.created_at.desc(), _g.id).limit(limit))
    return [_row(row) for row in rows]


def delete_group(conn: Connection, group: uuid.UUID) -> None:
    """Delete its row; the jobs are gone by then."""
    conn.execute(delete(models.job_group).where(_g.id == group))


def _row(row: Any) -> GroupRow:
    return GroupRow(
        id=row.id,
        name=row.name,
        kind=GroupKind(row.kind),
        source=bytes(row.source),
        source_copies=row.source_copies,
        members=tuple(GroupMember(database=m["database"], job=uuid.UUID(m["job"])) for m in row.members),
        created_at=row.created_at,
    )
