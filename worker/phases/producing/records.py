"""Items of a production with what was written of them, by number, read some at a time: no transaction is open while the
filer is written to."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

from core.job_types import FileKind
from core.options.production import ProductionChoice
from production.loadfiles.fields import texts
from readers.records import Kind
from sql.faces.production import PRODUCTION, FileRow, RecordRow
from worker.items.loose import own_name
from worker.phases.producing.evidence import items_gone
from worker.phases.task import TaskWork

_AT_ONCE = 500
_DAY = 24 * 60 * 60
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(slots=True)
class Record:
    """One item."""

    row: RecordRow
    files: Sequence[FileRow]
    choice: ProductionChoice
    fields: dict[str, Any] = field(init=False)  # everything that is told of it, by column
    _texts: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        row, metadata = self.row, self.row.metadata or {}
        native, text = self._file(FileKind.NATIVE), self._file(FileKind.TEXT)
        self.fields = {
            **_controls(row, self.choice.control),
            "custodian": row.custodian,
            "all_custodians": row.custodians or [row.custodian],
            "path": row.container_path,
            "name": own_name(bytes(row.name), row.container_path[-1], Kind(row.kind)),  # the path tells two apart
            "kind": row.kind,
            "media_type": row.media_type,
            "bytes": row.bytes,
            "sha256": None if row.sha256 is None else row.sha256.hex(),
            "md5": None if native is None else native.md5.hex(),
            "message_id_hash": None if row.message_id_hash is None else row.message_id_hash.hex(),
            "modified": None if row.mtime_ns is None else moment(row.mtime_ns),
            **{name: metadata.get(name) for name in ("from", "to", "cc", "bcc", "subject", "date", "title", "author")},
            "pages": row.pages,
            "found_pages": row.found_pages,
            "text_state": row.text_state,
            "native": None if native is None else native.path,
            "text": None if text is None else text.path,
            "exceptions": row.codes or [],
        }

    @property
    def texts(self) -> list[str]:
        """The same as text: several reports ask for it."""
        if self._texts is None:
            self._texts = texts(self.fields)
        return self._texts

    def _file(self, kind: FileKind) -> FileRow | None:
        """Its native or text; None where none was written."""
        for file in self.files:
            if file.kind == kind:
                return file
        return None


def records(work: TaskWork) -> Iterator[list[Record]]:
    """All of the job, some at a time. The next ones are read while the last ones are told: the database works, too. Raises
    StorageFault where one has gone: load files that end early look as whole as any."""
    choice, told = work.job.options.of(ProductionChoice), 0
    with ThreadPoolExecutor(1) as reading:
        coming = reading.submit(_read, work, 0)
        while True:
            rows, files = coming.result()
            full = len(rows) == _AT_ONCE
            if full:
                coming = reading.submit(_read, work, rows[-1].number)
            by_number = {number: list(of) for number, of in groupby(files, key=attrgetter("number"))}
            yield [Record(row, by_number.get(row.number, ()), choice) for row in rows]
            told += len(rows)
            if not full:
                break
    if told != choice.items:
        raise items_gone(choice.items - told)


def _read(work: TaskWork, after: int) -> tuple[list[RecordRow], list[FileRow]]:
    """The items after this number, and their files."""
    choice = work.job.options.of(ProductionChoice)
    with work.database.transaction() as conn:
        rows = PRODUCTION.production_records(
            conn,
            job=work.job.id,
            images=uuid.UUID(choice.images) if choice.images else None,
            deduped=[uuid.UUID(source) for source in choice.deduped],
            after=after,
            limit=_AT_ONCE,
        )
        if not rows:
            return [], []
        if gone := sum(row.gone for row in rows):
            raise items_gone(gone)
        return rows, PRODUCTION.production_files(conn, job=work.job.id, first=after + 1, last=rows[-1].number)


def _controls(row: RecordRow, control: Callable[[int], str]) -> dict[str, str]:
    """Begin and end of the item, of its family, and what it is attached to, as control numbers; of pages where these
    have numbers."""
    if row.first_page is None:
        begin = end = row.number
        family = (row.family_first, row.family_last)
        parent = row.parent
    else:
        begin, end = row.first_page, row.first_page + (row.pages or 1) - 1
        family = (row.family_first_page or begin, row.family_last_page or end)
        parent = row.parent_page
    first = control(begin)
    return {
        "begin": first,
        "end": first if end == begin else control(end),
        "begin_family": first if family[0] == begin else control(family[0]),
        "end_family": first if family[1] == begin else control(family[1]),
        "parent": "" if parent is None else control(parent),
    }


def moment(ns: int) -> str | None:
    """Nanoseconds since 1970 as ISO 8601 in UTC, to the second; None: no calendar has it."""
    day, second = divmod(ns // 1_000_000_000, _DAY)
    if (on := _date(day)) is None:
        return None
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{on}T{hour:02d}:{minute:02d}:{second:02d}Z"


@lru_cache(1_000)
def _date(day: int) -> str | None:
    """The same of a day, of which many files are. A file system may hold any number."""
    return str(date.fromordinal(_EPOCH + day)) if 0 < _EPOCH + day <= date.max.toordinal() else None
