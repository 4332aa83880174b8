"""Deleting a job of any size, in short transactions."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection

from core.errors import DatabaseFault, UsageError
from core.records import NewTask, Phase, Shard
from readers.records import TextState
from sql import deletion, jobs, states
from sql.findings import IndexOwner, ItemText, TaskResult
from sql.models import metadata
from sql.session import Database

ITEMS = 7


class Failing(Database):
    """A database that goes away after so many transactions."""

    left = 0

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        if not self.left:
            raise DatabaseFault("database db1: gone", transient=True)
        self.left -= 1
        with super().transaction(durable=durable) as conn:
            yield conn


def _finished_job(hands: Any) -> uuid.UUID:
    """A job with rows in many tables, more of each than one transaction may delete."""
    job: uuid.UUID = hands.create([NewTask(phase=Phase.WALK, weight=1, payload={}) for _ in range(ITEMS)])
    items = [hands.item(job, b"%d" % n) for n in range(ITEMS)]
    shard = Shard(id=uuid.uuid4(), engine="tantivy", location=b"s", documents=1)
    result = TaskResult(
        items=tuple(items),
        texts=tuple(ItemText(item=i.id, state=TextState.OK, characters=1, pages=1) for i in items),
        owners=tuple(IndexOwner(item=i.id, shard=shard.id) for i in items),
        shard=shard,
    )
    hands.finish(hands.take(job), result)
    with hands.database.transaction() as conn:
        states.request_cancel(conn, job)
    return job


def test_a_deletion_goes_on_where_it_was_interrupted(hands: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: whatever transaction is its last, the job is still named, as `deleting`, nothing but deleting changes
    it, and the next call ends it; other jobs keep every row."""
    monkeypatch.setattr(deletion, "ROWS_AT_ONCE", 2)
    keep, job = hands.create(2), _finished_job(hands)
    with hands.database.transaction() as conn:
        assert deletion.begin(conn, job), "it begins once"
    failing = Failing("db1", hands.database.url)
    for calls in itertools.count(1):
        failing.left = calls
        try:
            deletion.delete_rows(failing, job)
            break
        except DatabaseFault:
            with hands.database.transaction() as conn:
                assert jobs.get_job(conn, job).state.value == "deleting"
                with pytest.raises(UsageError, match="is deleting"):
                    states.request_resume(conn, job)
                assert not deletion.begin(conn, job)
    failing.dispose()
    for table in metadata.tables.values():
        if "job" in table.c:
            assert hands.value(f"SELECT count(*) FROM {table.name} WHERE job = %(job)s", job=job) == 0, table.name
    assert hands.rows("SELECT id FROM job") == [(keep,)]
    assert hands.value("SELECT count(*) FROM task") == 2
