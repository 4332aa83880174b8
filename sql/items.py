"""Items as tasks and tools read them back."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import Protocol

from sqlalchemy import Connection, select

from core.records import ExceptionLevel
from readers.errors import ExceptionCode
from sql import models
from sql.face import face
from sql.findings import Item, ItemText


class _Items(Protocol):
    def load_items(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[Item]: ...
    def load_texts(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[ItemText]: ...


ITEMS: _Items = face(_Items)


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
