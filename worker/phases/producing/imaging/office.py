"""Documents that LibreOffice renders: once, in phase render; the PDF is kept in the job's folder until the job is over, so
that the pages that are drawn are those that were counted."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable

from core.errors import SourceFileError, StorageFault
from core.names import display_name
from core.places import rendered_location
from core.records import Limits
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode
from sql.findings import Item
from sql.items import item_codes
from worker.items.sources import FilerSource
from worker.office.converting import KINDS, Converter, Document, Verdict
from worker.office.process import OfficeUnavailable, find_office
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity

_PDF = b"%PDF-"
_SAID = {  # of what discovery found such a thing of, LibreOffice would draw less than there is and say nothing
    ExceptionCode.ENCRYPTED: "it is encrypted, and LibreOffice is not given passwords",
    ExceptionCode.EXPANSION_LIMIT: "discovery found that it expands beyond the limits; raise them and run the discovery again",
}


def keep_rendered(
    work: TaskWork, sources: Iterable[tuple[Item, Source | DocumentError, Limits]], check: Callable[[], None]
) -> None:
    """Render those of a task's items that are for LibreOffice and have not been rendered yet by somebody who had this task
    before, each under its own limits; a DocumentError says why one is not to be read. `check` is called where a source could
    not be, and raises StorageFault where that is not the source's fault. Raises StorageFault, SystemFault."""
    wanted: list[tuple[Item, Document]] = []
    for item, source, limits in sources:
        if _is_there(work, item):
            continue
        if isinstance(source, DocumentError):
            _keep(work, item.id, source)
        else:
            wanted.append((item, Document(item.media_type, source, limits)))
    if not wanted:
        return
    with work.database.transaction() as conn:
        codes = item_codes(conn, [item.id for item, _ in wanted])
    crumb = work.context.crumb
    crumb.doing(Activity.RENDERING)
    try:
        office = find_office()
    except OfficeUnavailable as error:
        for item, _ in wanted:
            _keep(
                work,
                item.id,
                DocumentError(ExceptionCode.UNSUPPORTED, f"there is no renderer for {item.media_type}: {error}"),
            )
        return
    left = []
    for item, document in wanted:
        if said := next((code for code in _SAID if (item.id, code) in codes), None):
            _keep(work, item.id, DocumentError(said, _SAID[said]))
        elif (part := KINDS[item.media_type].part) not in office.parts:
            _keep(work, item.id, DocumentError(ExceptionCode.UNSUPPORTED, f"the LibreOffice here has no {part}"))
        else:
            left.append((item, document))
    converter = Converter(office, work.context.scratch.absolute(), work.job.options.limits, crumb.alive)
    if not left:
        return
    for place, verdict in converter.converted([document for _, document in left]):
        if isinstance(verdict, SourceFileError):
            check()
        _keep(work, left[place][0].id, verdict)


def kept(work: TaskWork, item: Item) -> Source:
    """The PDF that was rendered. Raises DocumentError where none could be, and why; StorageFault where nothing is there."""
    path = _path(work, item.id)
    try:
        with work.storage.open(path) as file:
            size = file.size
    except SourceFileError as error:
        raise StorageFault(
            f"{display_name(path)}, which the job made from an item, is lost ({error.detail}); cancel the job and create it again",
            errno=error.errno,
        ) from error
    source = FilerSource(work.storage, path, b"rendered.pdf", size, own=True)
    if source.head.startswith(_PDF):
        return source
    code, detail = json.loads(source.whole(1 << 16))
    raise DocumentError(ExceptionCode(code), detail)


def _is_there(work: TaskWork, item: Item) -> bool:
    try:
        work.storage.stat(_path(work, item.id))
    except SourceFileError as error:
        if error.code is ExceptionCode.VANISHED:
            return False
        raise
    return True


def _keep(work: TaskWork, item: uuid.UUID, verdict: Verdict) -> None:
    told = verdict if isinstance(verdict, bytes) else json.dumps([verdict.code, verdict.detail]).encode()
    work.storage.write_file(_path(work, item), (told,))


def _path(work: TaskWork, item: uuid.UUID) -> bytes:
    return os.path.join(work.root, rendered_location(work.job.id, item))
