"""Phase extract: the texts of items as the index of their job holds them (decision 4), a shard a task.

A shard is read once, whole, through the storage layer to scratch and opened there: these are recorded calls, and no text is
looked up over the filer.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import SourceFileError, StorageFault
from core.job_types import FileKind
from core.names import display_name
from core.options.production import ProducedFile
from core.records import ExceptionLevel
from core.storage.layer import EntryKind
from production.layout import Place
from readers.errors import ExceptionCode
from search.engine import IndexReader, open_reader
from sql.faces.production import PRODUCTION, ShardRow
from sql.findings import ItemException, TaskResult
from sql.producing.rows import ProducedFindings
from worker.items.sources import CHUNK
from worker.phases.producing.output import Output
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity

ALIVE_EVERY = 100
_LOST = "its text is no longer in the index shard that contained it when this job was created"
_REMOVALS = 20  # an engine may make a lock file in a directory that is being emptied


def run(work: TaskWork) -> TaskResult:
    """Write the texts of this task's items. One that its shard lacks is an exception of that item."""
    payload = work.claimed.payload
    shard = uuid.UUID(payload["shard"])
    out = Output(work)
    with work.database.transaction() as conn:
        where = PRODUCTION.production_shard(conn, shard=shard)
        rows = PRODUCTION.production_texts(
            conn, job=work.job.id, shard=shard, first=payload["first"], last=payload["last"]
        )
    if where is None:
        raise StorageFault(
            f"index shard {shard} does not exist any more: the job whose items this job produces was deleted; cancel this job"
        )
    files: list[ProducedFile] = []
    by_item = {row.item: row for row in rows}
    with fetched(work, where) as reader:
        work.context.crumb.doing(Activity.WRITING, out.path)
        texts = reader.bodies({row.item: row.owner for row in rows if row.owner is not None})
        for done, (item, body) in enumerate(texts):
            row = by_item.pop(item)
            if done % ALIVE_EVERY == 0:
                work.context.crumb.alive()
            if body:
                name = out.control(row.number, row.first_page) + ".txt"
                place = Place(row.volume, row.folder)
                files.append(out.put(row.number, FileKind.TEXT, place, name, body.encode("utf-8", "replace")))
    lost = tuple(
        ItemException(item=item, code=ExceptionCode.VANISHED, level=ExceptionLevel.ITEM, detail=_LOST)
        for item in by_item
    )
    return TaskResult(
        own=ProducedFindings(files=tuple(files)), exceptions=lost, written=len(rows), extracted_bytes=out.written
    )


@contextmanager
def fetched(work: TaskWork, shard: ShardRow) -> Iterator[IndexReader]:
    """A reader of the shard, brought to scratch for as long as the block lasts. Raises StorageFault."""
    top = work.context.scratch.absolute() / "texts"
    source = os.path.join(work.root, bytes(shard.location))
    work.context.crumb.doing(Activity.FETCHING, source)
    try:
        _fetch(work, source, top / "shard")
        yield open_reader(shard.engine, top / "shard", top / "view")
    finally:
        for _ in range(_REMOVALS):
            shutil.rmtree(top, ignore_errors=True)
            if not top.exists():
                break


def _fetch(work: TaskWork, source: bytes, directory: Path) -> None:
    try:
        directory.mkdir(parents=True)
        for entry in work.storage.scan(source):
            if entry.kind is EntryKind.FILE and not entry.name.endswith(b".tmp"):
                with work.storage.open(os.path.join(source, entry.name)) as file:
                    target = directory / os.fsdecode(entry.name)
                    with target.open("wb") as local:
                        while chunk := file.read(CHUNK):
                            local.write(chunk)
                            work.context.crumb.alive()
    except SourceFileError as e:
        raise StorageFault(
            f"index shard {display_name(source)} cannot be read ({e.detail}); see that the storage is mounted, then resume",
            errno=e.errno,
        ) from e
    except OSError as e:
        raise StorageFault(f"{directory} on scratch: {e.strerror}; see that scratch has space, then resume") from e
