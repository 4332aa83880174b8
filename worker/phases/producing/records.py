"""Items of a production with what was written of them, by number, read some at a time: no transaction is open while the
filer is written to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from core.options.production import FileKind
from sql.faces.production import PRODUCTION, FileRow, RecordRow
from worker.phases.task import TaskWork

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Record:
    """One item."""

    row: RecordRow
    files: Sequence[FileRow]

    def file(self, kind: FileKind) -> FileRow | None:
        """Its native or text; None where none was written."""
        return next((file for file in self.files if file.kind == kind), None)


def records(work: TaskWork) -> Iterator[Record]:
    """All of the job."""
    after = 0
    while True:
        with work.database.transaction() as conn:
            rows = PRODUCTION.production_records(conn, job=work.job.id, after=after, limit=_AT_ONCE)
            last = rows[-1].number if rows else 0
            files = PRODUCTION.production_files(conn, job=work.job.id, first=after + 1, last=last) if rows else []
        by_number = {number: list(of) for number, of in groupby(files, key=attrgetter("number"))}
        work.context.crumb.alive()
        for row in rows:
            yield Record(row, by_number.get(row.number, []))
        if len(rows) < _AT_ONCE:
            return
        after = last


def control_of(work: TaskWork, record: Record) -> dict[str, str]:
    """Begin and end of the item, of its family, and what it is attached to, as control numbers; of pages where these
    have numbers."""
    row, choice = record.row, work.job.options.production
    if row.first_page is None:
        begin = end = row.number
        family = (row.family_first, row.family_last)
        parent = row.parent
    else:
        begin, end = row.first_page, row.first_page + (row.pages or 1) - 1
        family = (row.family_first_page or begin, row.family_last_page or end)
        parent = row.parent_page
    return {
        "begin": choice.control(begin),
        "end": choice.control(end),
        "begin_family": choice.control(family[0]),
        "end_family": choice.control(family[1]),
        "parent": "" if parent is None else choice.control(parent),
    }
