"""Groups of jobs, one job per database; the groups' rows are in the first. All work in the caller's transaction."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.records import GroupKind
from sql import bulk
from sql.face import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
    QUERIES["insert_group"].run(
        conn,
        group=id,
        name=bulk.storable(name),
        kind=kind.value,
        source=source,
        source_copies=source_copies,
        members=json.dumps([{"database": member.database, "job": str(member.job)} for member in members]),
    )


def find_groups(conn: Connection, digits: str) -> list[GroupRow]:
    """Groups whose id begins with these hexadecimal digits (hyphens left out), at most three."""
    return [_row(row) for row in QUERIES["find_groups"].run(conn, prefix=digits)]


def list_groups(conn: Connection, limit: int = 1_000) -> list[GroupRow]:
    """Groups, newest first."""
    return [_row(row) for row in QUERIES["list_groups"].run(conn, limit=limit)]


def delete_group(conn: Connection, group: uuid.UUID) -> None:
    """Delete its row; the jobs are gone by then."""
    QUERIES["delete_group"].run(conn, group=group)


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
