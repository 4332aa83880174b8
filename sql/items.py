"""Items as tasks and tools read them back."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select

from core.records import ExceptionLevel
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from sql import models
from sql.findings import Item, ItemText


def load_items(conn: Connection, ids: Sequence[uuid.UUID]) -> list[Item]:
    """The rows of these items, in the order of `ids`; ids without a row are left out."""
    rows = conn.execute(select(models.item).where(models.item.c.id.in_(list(ids))))
    items = {row.id: _item(row) for row in rows}
    return [items[i] for i in ids if i in items]


def item_codes(conn: Connection, ids: Sequence[uuid.UUID]) -> set[tuple[uuid.UUID, ExceptionCode]]:
    """The item-level exceptions these items have already from the job that found them, not from jobs that took them since."""
    table, item = models.exception.c, models.item.c
    own = models.exception.join(models.item, (item.id == table.item) & (item.job == table.job))
    rows = conn.execute(
        select(table.item, table.code)
        .select_from(own)
        .where(table.item.in_(list(ids)), table.level == ExceptionLevel.ITEM.value)
    )
    return {(row.item, ExceptionCode(row.code)) for row in rows}


def load_texts(conn: Connection, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, ItemText]:
    """What became of the text of these items, where that is known."""
    table = models.item_text
    return {
        row.item: ItemText(
            item=row.item,
            state=TextState(row.state),
            characters=row.characters,
            pages=row.pages,
            metadata=row.metadata,
        )
        for row in conn.execute(select(table).where(table.c.item.in_(list(ids))))
    }


def locations(conn: Connection, ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, bytes | None]:
    """Where the items that have a row are written (None: nowhere)."""
    table = models.item.c
    rows = conn.execute(select(table.id, table.location).where(table.id.in_(list(ids))))
    return {row.id: None if row.location is None else bytes(row.location) for row in rows}


def shard_ids(conn: Connection, job: uuid.UUID) -> set[uuid.UUID]:
    """The shards that a finished task of the job has published to."""
    return set(conn.execute(select(models.shard.c.id).where(models.shard.c.job == job)).scalars())


def custodian_names(conn: Connection, job: uuid.UUID) -> dict[int, str]:
    """Display names of a job's custodians by number."""
    table = models.custodian.c
    return {
        row.number: row.display for row in conn.execute(select(table.number, table.display).where(table.job == job))
    }


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _item(row: Any) -> Item:
    return Item(
        id=row.id,
        parent=row.parent,
        family=row.family_id,
        custodian=row.custodian,
        ordinal=bytes(row.ordinal),
        depth=row.depth,
        name=bytes(row.name),
        container_path=tuple(row.container_path),
        kind=Kind(row.kind),
        container=row.container,
        media_type=row.media_type,
        size=row.bytes,
        sha256=_bytes(row.sha256),
        content_hash=_bytes(row.content_hash),
        message_id_hash=_bytes(row.message_id_hash),
        location=_bytes(row.location),
        mtime_ns=row.mtime_ns,
    )
