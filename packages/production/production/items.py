"""Phases extract and export: texts from the index, and natives and page images, each file named by its number."""

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
from core.records import ExceptionLevel
from core.storage.layer import EntryKind
from production.layout import Place
from production.options import WITHHELD, ProducedFile, ProductionChoice
from production.output import Evidence, Output, items_gone
from production.rows import ProducedFindings
from production.statements import PRODUCTION, ImageRow, NativeRow, ShardRow
from readers.errors import DocumentError, ExceptionCode
from search.engine import IndexReader, open_reader
from sql import jobs
from sql.findings import ItemException, TaskResult
from worker.items.findings import Findings
from worker.items.sources import CHUNK, FilerSource
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity


def export(work: TaskWork) -> TaskResult:
    """Write the natives of this task's items. A native whose bytes differ or are not available is an exception of its
    item, and no file is written; the same holds for one that contains items that the job does not take."""
    payload = work.claimed.payload
    first, last, withheld = payload["first"], payload["last"], set(payload.get(WITHHELD, ()))
    out, findings = Output(work), Findings()
    with work.database.transaction() as conn:
        rows = PRODUCTION.production_natives(conn, job=work.job.id, first=first, last=last)
    if gone := sum(row.size is None for row in rows):
        raise items_gone(gone)
    evidence = Evidence(work)
    files: list[ProducedFile] = []
    for row in rows:
        work.context.breadcrumb.doing(Activity.COPYING, str(row.item).encode())
        try:
            if row.number in withheld:
                raise DocumentError(ExceptionCode.WITHHELD, "it contains items that are not produced")
            if (native := _native(out, evidence, row)) is not None:
                files.append(native)
        except DocumentError as e:
            if isinstance(e, SourceFileError):
                evidence.check(row.source_job)
            findings.item_failed(row.item, e)
    if work.job.options.of(ProductionChoice).images:
        files += _images(work, out, rows, first, last)
    return TaskResult(
        own=ProducedFindings(files=tuple(files)),
        exceptions=tuple(findings.exceptions),
        written=len(rows),
        extracted_bytes=out.written,
    )


def _native(out: Output, evidence: Evidence, row: NativeRow) -> ProducedFile | None:
    if row.sha256 is None:
        return None  # it could not be read at its discovery
    source = evidence.bytes_at(
        row.source_job, _bytes(row.path), _bytes(row.location), _bytes(row.name) or b"", row.size or 0
    )
    if source is None:
        return None
    name = out.control(row.number, row.first_page) + row.suffix
    place = Place(row.volume, row.folder)
    return out.put(row.number, FileKind.NATIVE, place, name, source.content(), expected=bytes(row.sha256))


def _bytes(value: memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)


def _images(work: TaskWork, out: Output, rows: list[NativeRow], first: int, last: int) -> list[ProducedFile]:
    """Copy the pages that the processing job wrote, under the same names."""
    images = uuid.UUID(work.job.options.of(ProductionChoice).images)
    places = {row.number: Place(row.volume, row.folder) for row in rows}
    with work.database.transaction() as conn:
        theirs = os.fsencode(jobs.get_job(conn, images).options.of(ProductionChoice).out)
        pages = PRODUCTION.production_images(conn, job=work.job.id, images=images, first=first, last=last)
    work.storage.keep_below(theirs, own=True, hold=True)
    return [_image(out, os.path.join(theirs, os.fsencode(page.path)), page, places[page.number]) for page in pages]


def _image(out: Output, path: bytes, page: ImageRow, place: Place) -> ProducedFile:
    """Copy a page. Its number is given already, so a page that is missing or changed is not an exception of an item.
    Raises StorageFault."""
    storage, name = out.work.storage, page.path.rpartition("/")[2]
    try:
        source = FilerSource(storage, path, os.path.basename(path), storage.stat(path).st_size, own=True)
        content, expected = source.content(), bytes(page.sha256)
        return out.put(page.number, FileKind.IMAGE, place, name, content, page=page.page, expected=expected)
    except DocumentError as e:
        raise StorageFault(
            f"{display_name(path)} is not the page that job {out.choice.images} made ({e.detail}); restore it, or cancel"
            " this job and run the processing job again"
        ) from e


ALIVE_EVERY = 100
_LOST = "its text is no longer in the index shard that contained it when this job was created"
_REMOVALS = 20  # an engine may create a lock file in a directory that is being emptied


def extract(work: TaskWork) -> TaskResult:
    """Write the texts of this task's items. A text that its shard lacks is an exception of that item."""
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
            f"index shard {shard} no longer exists: the job whose items this job produces was deleted; cancel this job"
        )
    files: list[ProducedFile] = []
    by_item = {row.item: row for row in rows}
    with fetched(work, where) as reader:
        work.context.breadcrumb.doing(Activity.WRITING, out.path)
        texts = reader.bodies({row.item: row.owner for row in rows if row.owner is not None})
        for done, (item, body) in enumerate(texts):
            row = by_item.pop(item)
            if done % ALIVE_EVERY == 0:
                work.context.breadcrumb.alive()
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
    """Copy the shard to scratch and yield a reader of it. Raises StorageFault, also if it has other bytes than were
    written."""
    top = work.context.scratch.absolute() / "texts"
    source = os.path.join(work.root, bytes(shard.location))
    work.context.breadcrumb.doing(Activity.FETCHING, source)
    try:
        _fetch(work, source, top / "shard")
        reader = open_reader(shard.engine, top / "shard", top / "view")
        if damaged := reader.damaged():
            raise StorageFault(
                f"index shard {display_name(source)} is damaged: {', '.join(damaged)} no longer has the bytes that were "
                "written; restore it, then resume, or cancel this job and run the discovery again"
            )
        yield reader
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
                            work.context.breadcrumb.alive()
    except SourceFileError as e:
        raise StorageFault(
            f"index shard {display_name(source)} cannot be read ({e.detail}); check that the storage is mounted, then resume",
            errno=e.errno,
        ) from e
    except OSError as e:
        raise StorageFault(f"{directory} on scratch: {e.strerror}; check that scratch has space, then resume") from e
