"""A job's published index shards, opened for reading."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from controller.databases import JobHandle
from core.errors import RunFailed
from core.records import Shard
from core.settings import Settings
from sql.faces.browse import BROWSE
from worker.indexes.base import IndexReader
from worker.indexes.registry import open_reader

if TYPE_CHECKING:
    from sqlalchemy import Connection

_REMOVALS = 20  # a watcher makes one lock file for a reader; one more removal is nearly always enough

log = logging.getLogger(__name__)


def shards_of(conn: Connection, job: uuid.UUID) -> list[Shard]:
    """The shards that the database knows of."""
    return [
        Shard(id=row.id, engine=row.engine, location=bytes(row.location), documents=row.documents)
        for row in BROWSE.shards(conn, job=job)
    ]


@contextmanager
def opened_shards(
    handle: JobHandle, settings: Settings, *, only: uuid.UUID | None = None
) -> Iterator[dict[uuid.UUID, IndexReader]]:
    """Readers of all shards by id, or of one, valid inside the `with`.

    Raises RunFailed when a shard that the database names is not on the storage root.
    """
    with handle.database.transaction() as conn:
        shards = [shard for shard in shards_of(conn, handle.id) if only in (None, shard.id)]
    settings.scratch.mkdir(parents=True, exist_ok=True)
    with reader_views(settings.scratch) as views:
        readers: dict[uuid.UUID, IndexReader] = {}
        for shard in shards:
            directory = settings.storage / os.fsdecode(shard.location)
            if not directory.is_dir():
                raise RunFailed(
                    f"index shard {directory} is missing; set EDBENCH_STORAGE to the storage root of job {handle.id}"
                )
            readers[shard.id] = open_reader(shard.engine, directory, views / shard.id.hex)
        yield readers


@contextmanager
def reader_views(scratch: Path) -> Iterator[Path]:
    """A directory for the readers' links, removed afterwards.

    Tantivy watches the directory of an open reader from a thread of its own and locks it with a file there. That file
    may come while the directory is emptied ("Directory not empty"), so the removal is tried again.
    """
    views = Path(tempfile.mkdtemp(prefix="search-", dir=scratch))
    try:
        yield views
    finally:
        for _ in range(_REMOVALS):
            shutil.rmtree(views, ignore_errors=True)
            if not views.exists():
                break
        else:
            log.warning("%s could not be removed; it contains links only and may be deleted", views)
