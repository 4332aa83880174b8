"""Phase export: the natives of items, read again from the evidence and held against the hash that they had when they were
found; and the pages that a processing job made of them."""

from __future__ import annotations

import os
import uuid

from core.errors import SourceFileError, StorageFault
from core.job_types import FileKind
from core.names import display_name
from core.options.production import WITHHELD, ProducedFile, ProductionChoice
from production.layout import Place
from readers.errors import DocumentError, ExceptionCode
from sql import jobs
from sql.faces.production import PRODUCTION, ImageRow, NativeRow
from sql.findings import TaskResult
from sql.producing.rows import ProducedFindings
from worker.items.findings import Findings
from worker.items.sources import FilerSource
from worker.phases.producing.evidence import Evidence, items_gone
from worker.phases.producing.output import Output
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity


def run(work: TaskWork) -> TaskResult:
    """Write the natives of this task's items. One whose bytes differ or cannot be had is an exception of that item, and
    no file; so is one that holds what the job does not take."""
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
        work.context.crumb.doing(Activity.COPYING, str(row.item).encode())
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
        return None  # it could not be read when it was found
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
    """Pages as the processing job wrote them, under the same names."""
    images = uuid.UUID(work.job.options.of(ProductionChoice).images)
    places = {row.number: Place(row.volume, row.folder) for row in rows}
    with work.database.transaction() as conn:
        theirs = os.fsencode(jobs.get_job(conn, images).options.of(ProductionChoice).out)
        pages = PRODUCTION.production_images(conn, job=work.job.id, images=images, first=first, last=last)
    work.storage.keep_below(theirs, own=True, hold=True)
    return [_image(out, os.path.join(theirs, os.fsencode(page.path)), page, places[page.number]) for page in pages]


def _image(out: Output, path: bytes, page: ImageRow, place: Place) -> ProducedFile:
    """A page is ours, and its number is given: one that is gone or another is no exception of an item. Raises StorageFault."""
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
