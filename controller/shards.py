"""A job's published index shards, opened for reading."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection

from controller.databases import JobHandle
from core.errors import RunFailed
from core.records import Shard
from core.settings import Settings
from sql.queries import QUERIES
from worker.indexes.base import IndexReader
from worker.indexes.registry import open_reader


def shards_of(conn: Connection, job: uuid.UUID) -> list[Shard]:
    """The shards that the database knows of."""
    rows = QUERIES["shards"].run(conn, job=job)
    return [Shard(id=row.id, engine=row.engine, location=bytes(row.location), documents=row.documents) for row in rows]


@contextmanager
def opened_shards(handle: JobHandle, settings: Settings) -> Iterator[dict[uuid.UUID, IndexReader]]:
    """Readers of all shards by id, valid inside the `with`.

    Raises RunFailed when a shard that the database names is not on the storage root.
    """
    with handle.database.transaction() as conn:
        shards = shards_of(conn, handle.id)
    settings.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="search-", dir=settings.scratch) as views:
        readers: dict[uuid.UUID, IndexReader] = {}
        for shard in shards:
            directory = settings.storage / os.fsdecode(shard.location)
            if not directory.is_dir():
                raise RunFailed(
                    f"index shard {directory} is not there; set EDBENCH_STORAGE to the storage root of job {handle.id}"
                )
            readers[shard.id] = open_reader(shard.engine, directory, Path(views) / shard.id.hex)
        yield readers
