"""The load files of an export: CSV, Concordance DAT and EDRM XML, of the same fields."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from typing import cast, get_args

from core.errors import StorageFault
from core.job_types import FileKind
from core.options.production import DAT_ENCODING, ProductionChoice
from core.records import FINALISE_REST
from production.layout import volume
from production.loadfiles import concordance, edrm, opticon
from production.loadfiles.fields import TITLES, cells
from sql.faces.production import PRODUCTION, FileRow, Gap
from worker.phases.producing.records import Record
from worker.phases.producing.reports import MetadataTable, Report, table, table_head
from worker.phases.task import TaskWork

_GAP = ("begin", "end")
_GAPS_AT_ONCE = 1_000
_HELD = 1 << 20  # bytes of what is attached to what that memory holds; more go to scratch


class LoadTable(MetadataTable):
    """CSV, the columns of an extraction's."""

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
    """EDRM XML. What is attached to what stands behind the documents."""

    path = "loadfile.xml"
    share = FINALISE_REST

    def __init__(self, work: TaskWork) -> None:
        super().__init__(work)
        self._attached = tempfile.SpooledTemporaryFile(_HELD, dir=str(work.context.scratch))  # noqa: SIM115  closed by `close`

    def head(self) -> bytes:
        return edrm.HEAD

    def some(self, records: Sequence[Record]) -> bytes:
        told = [record.fields for record in records]
        attached = "".join(edrm.relationship(one["parent"], one["begin"]) for one in told if one["parent"])
        try:
            self._attached.write(attached.encode())
        except OSError as e:
            raise StorageFault(
                f"{self.work.context.scratch} on scratch: {e.strerror}; see that scratch has space"
            ) from e
        documents = (edrm.document(each.fields, map(_external, each.files), each.texts) for each in records)
        return "".join(documents).encode()

    def tail(self) -> Iterator[bytes]:
        yield edrm.MIDDLE
        self._attached.seek(0)
        while piece := self._attached.read(_HELD):
            yield piece
        yield edrm.TAIL

    def close(self) -> None:
        self._attached.close()


def _external(file: FileRow) -> edrm.ExternalFile:
    return edrm.ExternalFile(file.kind, file.path, file.bytes, file.md5.hex())


class Opt(Report):
    """Opticon: the pages of items that have any."""

    path = "loadfile.opt"
    share = FINALISE_REST

    def some(self, records: Sequence[Record]) -> bytes:
        return b"".join(map(self._pages, records))

    def _pages(self, record: Record) -> bytes:
        choice = self.work.job.options.of(ProductionChoice)
        pages = [file for file in record.files if file.kind == FileKind.IMAGE]
        begin = record.row.first_page or 0
        told = [(choice.control(begin + file.page - 1), file.path) for file in pages]
        return opticon.lines(volume(record.row.volume), told) if pages else b""


class Withheld(Report):
    """The numbers of pages whose items an export leaves out: nothing else of these is told."""

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
            yield table(map(self._told, gaps))
            after = gaps[-1].number

    def _told(self, gap: Gap) -> tuple[str, str]:
        control = self.work.job.options.of(ProductionChoice).control
        begin = gap.number if gap.first_page is None else gap.first_page
        return control(begin), control(begin + (gap.pages or 1) - 1)
