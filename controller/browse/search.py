"""Searches all shards of a job and keeps what the database vouches for (design §3.9)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import PlainSerializer
from sqlalchemy import Connection

from controller.browse.shards import opened_shards
from controller.databases import JobHandle
from core.document import Document, NotNone
from core.settings import Settings
from sql.faces.browse import BROWSE, TrueOwner
from worker.indexes.base import Hit, IndexReader

HIGHLIGHT_START, HIGHLIGHT_STOP = "\x02", "\x03"


def _unmarked(snippet: str) -> str:
    return snippet.replace(HIGHLIGHT_START, "").replace(HIGHLIGHT_STOP, "")


class FoundItem(Document):
    """One item that matches; as JSON its snippet is without marks, and a score is short."""

    item: uuid.UUID
    score: Annotated[float, PlainSerializer(lambda value: round(value, 4))]
    container_path: tuple[str, ...]
    custodian: str
    family: uuid.UUID | None
    kind: str
    media_type: str
    snippet: Annotated[str, PlainSerializer(_unmarked)]  # matches between \\x02 and \\x03
    database: Annotated[str | None, NotNone] = None  # that its job lives in, where several jobs were searched
    job: Annotated[uuid.UUID | None, NotNone] = None


def search_job(handle: JobHandle, settings: Settings, query: str, limit: int) -> list[FoundItem]:
    """The best `limit` items, best first. Raises UsageError for a query that cannot be read, RunFailed, faults."""
    with opened_shards(handle, settings) as readers, handle.database.transaction() as conn:
        hits: list[FoundItem] = []
        for shard, reader in readers.items():
            hits += search_shard(conn, handle.id, shard, reader, query, limit)
    hits.sort(key=lambda hit: (-hit.score, hit.container_path))
    return hits[:limit]


def search_all(handles: Sequence[JobHandle], settings: Settings, query: str, limit: int) -> list[FoundItem]:
    """The same over several jobs: the best `limit` items of all, each with its database and job."""
    if len(handles) == 1:
        return search_job(handles[0], settings, query, limit)
    hits = [
        hit.model_copy(update={"database": handle.database.name, "job": handle.id})
        for handle in handles
        for hit in search_job(handle, settings, query, limit)
    ]
    hits.sort(key=lambda hit: (-hit.score, hit.container_path))
    return hits[:limit]


def search_shard(
    conn: Connection, job: uuid.UUID, shard: uuid.UUID, reader: IndexReader, query: str, limit: int
) -> list[FoundItem]:
    """The best `limit` items that this shard owns; asks further down while ghosts take up places."""
    asked = limit
    while True:
        hits = reader.search(query, asked)
        owners = true_owners(conn, job, [hit.item for hit in hits])
        real = [_found(hit, owners[hit.item]) for hit in hits if is_true(hit, shard, owners)]
        if len(real) >= limit or len(hits) < asked:
            return real[:limit]
        asked *= 2


def true_owners(conn: Connection, job: uuid.UUID, items: Sequence[uuid.UUID]) -> dict[uuid.UUID, TrueOwner]:
    """For each item that has one, the row that says which shard and owner hold its valid document."""
    if not items:
        return {}
    return {row.id: row for row in BROWSE.true_owners(conn, job=job, items=list(items))}


def is_true(hit: Hit, shard: uuid.UUID, owners: Mapping[uuid.UUID, TrueOwner]) -> bool:
    """Whether the database names exactly this document."""
    row = owners.get(hit.item)
    return row is not None and row.shard == shard and row.owner == hit.owner


def _found(hit: Hit, row: TrueOwner) -> FoundItem:
    return FoundItem(
        item=hit.item,
        score=hit.score,
        container_path=tuple(row.container_path),
        custodian=row.custodian,
        family=row.family_id,
        kind=row.kind,
        media_type=row.media_type,
        snippet=hit.snippet,
    )
