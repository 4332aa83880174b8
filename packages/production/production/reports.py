"""Reports that a job writes about its items at its end: metadata, hashes and load files."""

from __future__ import annotations

import csv
import json
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, cast, get_args

from core.csv_cells import BEGINS_FORMULA, defused
from core.errors import StorageFault
from core.job_types import FileKind
from core.records import FINALISE_REST, FINALISE_TABLES
from production import concordance, edrm, opticon
from production.fields import COLUMNS, TITLES, cells, texts
from production.layout import volume
from production.options import DAT_ENCODING, ProductionChoice
from production.output import items_gone
from production.statements import PRODUCTION, FileRow, Gap, RecordRow
from readers.records import Kind
from worker.items.loose import own_name
from worker.phases.task import TaskWork

_AT_ONCE = 500
_DAY = 24 * 60 * 60
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(slots=True)
class Record:
    """An item with its files, as reports need it."""

    row: RecordRow
    files: Sequence[FileRow]
    choice: ProductionChoice
    fields: dict[str, Any] = field(init=False)  # all values, by column
    _texts: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        row, metadata = self.row, self.row.metadata or {}
        native, text = self._file(FileKind.NATIVE), self._file(FileKind.TEXT)
        self.fields = {
            **_controls(row, self.choice.control),
            "custodian": row.custodian,
            "all_custodians": row.custodians or [row.custodian],
            "path": row.container_path,
            "name": own_name(bytes(row.name), row.container_path[-1], Kind(row.kind)),  # paths distinguish equal ones
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
        """The fields as text, cached because several reports need it."""
        if self._texts is None:
            self._texts = texts(self.fields)
        return self._texts

    def _file(self, kind: FileKind) -> FileRow | None:
        """Return the item's native or text; None if none was written."""
        for file in self.files:
            if file.kind == kind:
                return file
        return None


def records(work: TaskWork) -> Iterator[list[Record]]:
    """Read all records of the job in batches. The next batch is read while the last one is written: the database works
    meanwhile. Raises StorageFault if a record is missing: load files that end early look complete."""
    choice, count = work.job.options.of(ProductionChoice), 0
    firsts = range(choice.first, choice.last + 1, _AT_ONCE)
    with ThreadPoolExecutor(1) as reading:
        coming = reading.submit(_read, work, choice.first)
        for first in firsts:
            rows, files = coming.result()
            if (following := first + _AT_ONCE) in firsts:
                coming = reading.submit(_read, work, following)
            by_number = {number: list(of) for number, of in groupby(files, key=attrgetter("number"))}
            yield [Record(row, by_number.get(row.number, ()), choice) for row in rows]
            count += len(rows)
    if count != choice.items:
        raise items_gone(choice.items - count)


def _read(work: TaskWork, first: int) -> tuple[list[RecordRow], list[FileRow]]:
    """Return the items with this number and those after it, and their files."""
    choice, last = work.job.options.of(ProductionChoice), first + _AT_ONCE - 1
    with work.database.transaction() as conn:
        rows = PRODUCTION.production_records(
            conn,
            job=work.job.id,
            images=uuid.UUID(choice.images) if choice.images else None,
            deduped=[uuid.UUID(source) for source in choice.deduped],
            first=first,
            last=last,
        )
        if gone := sum(row.gone for row in rows):
            raise items_gone(gone)
        return rows, PRODUCTION.production_files(conn, job=work.job.id, first=first, last=last)


def _controls(row: RecordRow, control: Callable[[int], str]) -> dict[str, str]:
    """Return begin and end of the item and of its family, and its parent, as control numbers; of pages if these have
    numbers."""
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
    """Format nanoseconds since 1970 as ISO 8601 in UTC, to the second; None if no calendar has that day."""
    day, second = divmod(ns // 1_000_000_000, _DAY)
    if (on := _date(day)) is None:
        return None
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{on}T{hour:02d}:{minute:02d}:{second:02d}Z"


@lru_cache(1_000)
def _date(day: int) -> str | None:
    """Format a day, which many files share; None if no calendar has it. A file system may have any number."""
    return str(date.fromordinal(_EPOCH + day)) if 0 < _EPOCH + day <= date.max.toordinal() else None


_HASHES = ("path", "bytes", "md5", "sha256", "begin", "kind", "page")


class Report:
    """A file about all items of a job, written in portions in the order of their numbers."""

    path: ClassVar[str]  # in the output directory
    share: ClassVar[str] = FINALISE_TABLES  # the task of phase finalise that writes it

    def __init__(self, work: TaskWork) -> None:
        self.work = work

    def head(self) -> bytes:
        """Return the start of the file."""
        return b""

    def some(self, records: Sequence[Record]) -> bytes:
        """Return the lines of these items."""
        raise NotImplementedError

    def tail(self) -> Iterator[bytes]:
        """Yield the end of the file, in pieces."""
        return iter(())

    def close(self) -> None:
        """Release resources."""


class MetadataLines(Report):
    """JSON, an object on each line, with all metadata that was found."""

    path = "metadata.jsonl"
    share = FINALISE_REST

    def some(self, records: Sequence[Record]) -> bytes:
        lines = (record.fields | {"metadata": record.row.metadata or {}} for record in records)
        text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
        return text.encode("utf-8", "replace")


class MetadataTable(Report):
    """The metadata as CSV, without fields that have no column."""

    path = "metadata.csv"

    def head(self) -> bytes:
        return table_head(COLUMNS)

    def some(self, records: Sequence[Record]) -> bytes:
        return table(record.texts for record in records)


class HashTable(Report):
    """The hashes of every file of an item."""

    path = "hashes.csv"

    def head(self) -> bytes:
        return table_head(_HASHES)

    def some(self, records: Sequence[Record]) -> bytes:
        return table(row for record in records for row in _hashes(record))


def _hashes(record: Record) -> Iterable[Sequence[str]]:
    begin = record.fields["begin"]
    return [
        (file.path, str(file.bytes), file.md5.hex(), file.sha256.hex(), begin, file.kind, str(file.page))
        for file in record.files
    ]


def table_head(columns: Sequence[str]) -> bytes:
    """Return the first line of a CSV."""
    return _csv((columns,))


def table(rows: Iterable[Sequence[str]]) -> bytes:
    """Return lines of a CSV in UTF-8, with the line ends of RFC 4180. No cell is a formula."""
    # Formulas are rare, and an item has forty cells: each row is checked as a whole first.
    safe = BEGINS_FORMULA.isdisjoint
    return _csv(row if safe(map(_BEGINNING, row)) else [*map(defused, row)] for row in rows)


_BEGINNING = itemgetter(slice(1))


class _Lines(list[str]):
    write = list.append


def _csv(rows: Iterable[Sequence[str]]) -> bytes:
    lines = _Lines()
    quoting = csv.writer(lines).writerow
    for row in rows:
        line = ",".join(row)
        # Only these rows may need quotes. Most rows do not, and need no writer that checks each cell.
        if line.count(",") >= len(row) or '"' in line or "\r" in line or "\n" in line or len(row) < 2:
            quoting(row)
        else:
            lines.append(line + "\r\n")
    return "".join(lines).encode("utf-8", "replace")


_GAP = ("begin", "end")
_GAPS_AT_ONCE = 1_000
_HELD = 1 << 20  # bytes of relationships in memory; more go to scratch


class LoadTable(MetadataTable):
    """CSV with the columns of an extraction."""

    path = "loadfile.csv"


class Dat(Report):
    """Concordance DAT."""

    path = "loadfile.dat"

    def __init__(self, work: TaskWork) -> None:
        super().__init__(work)
        encoding = dict(work.job.options.of(ProductionChoice).extras).get(DAT_ENCODING, "utf-8")
        assert encoding in get_args(concordance.Encoding)
        self._encoding = cast(concordance.Encoding, encoding)

    def head(self) -> bytes:
        return concordance.head(TITLES, self._encoding)

    def some(self, records: Sequence[Record]) -> bytes:
        return concordance.lines((cells(record.fields, record.texts) for record in records), self._encoding)


class Xml(Report):
    """EDRM XML. The relationships follow the documents."""

    path = "loadfile.xml"
    share = FINALISE_REST

    def __init__(self, work: TaskWork) -> None:
        super().__init__(work)
        self._attached = tempfile.SpooledTemporaryFile(_HELD, dir=str(work.context.scratch))  # noqa: SIM115  closed by `close`

    def head(self) -> bytes:
        return edrm.HEAD

    def some(self, records: Sequence[Record]) -> bytes:
        values = [record.fields for record in records]
        attached = "".join(edrm.relationship(one["parent"], one["begin"]) for one in values if one["parent"])
        try:
            self._attached.write(attached.encode())
        except OSError as e:
            raise StorageFault(
                f"{self.work.context.scratch} on scratch: {e.strerror}; check that scratch has space"
            ) from e
        files = ([edrm.ExternalFile(f.kind, f.path, f.bytes, f.md5.hex()) for f in each.files] for each in records)
        documents = (edrm.document(one.fields, of, one.texts) for one, of in zip(records, files, strict=True))
        return "".join(documents).encode()

    def tail(self) -> Iterator[bytes]:
        yield edrm.MIDDLE
        self._attached.seek(0)
        while piece := self._attached.read(_HELD):
            yield piece
        yield edrm.TAIL

    def close(self) -> None:
        self._attached.close()


class Opt(Report):
    """Opticon: the pages of the items that have any."""

    path = "loadfile.opt"
    share = FINALISE_REST

    def some(self, records: Sequence[Record]) -> bytes:
        return b"".join(map(self._pages, records))

    def _pages(self, record: Record) -> bytes:
        choice = self.work.job.options.of(ProductionChoice)
        pages = [file for file in record.files if file.kind == FileKind.IMAGE]
        begin = record.row.first_page or 0
        numbered = [(choice.control(begin + file.page - 1), file.path) for file in pages]
        return opticon.lines(volume(record.row.volume), numbered) if pages else b""


class Withheld(Report):
    """The numbers of pages whose items an export omits, and nothing else about them."""

    path = "withheld.csv"

    def head(self) -> bytes:
        return table_head(_GAP)

    def some(self, records: Sequence[Record]) -> bytes:
        return b""

    def tail(self) -> Iterator[bytes]:
        job, after = self.work.job, 0
        images = uuid.UUID(job.options.of(ProductionChoice).images)
        while True:
            with self.work.database.transaction() as conn:
                gaps = PRODUCTION.production_gaps(conn, job=job.id, images=images, after=after, limit=_GAPS_AT_ONCE)
            if not gaps:
                return
            yield table(map(self._range, gaps))
            after = gaps[-1].number

    def _range(self, gap: Gap) -> tuple[str, str]:
        control = self.work.job.options.of(ProductionChoice).control
        begin = gap.number if gap.first_page is None else gap.first_page
        return control(begin), control(begin + (gap.pages or 1) - 1)
