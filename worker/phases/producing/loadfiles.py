"""The load files of an export: CSV, Concordance DAT and EDRM XML, of the same fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast, get_args

from core.options.production import DAT_ENCODING, FileKind
from production.layout import volume
from production.loadfiles import concordance, edrm, opticon
from production.loadfiles.fields import TITLES, cells
from worker.phases.producing.records import records
from worker.phases.producing.reports import Report, fields, metadata_table
from worker.phases.task import TaskWork


def dat(work: TaskWork) -> Iterator[bytes]:
    """Concordance DAT."""
    encoding = dict(work.job.options.production.extras).get(DAT_ENCODING, "utf-8")
    assert encoding in get_args(concordance.Encoding)
    rows = (cells(fields(work, record)) for record in records(work))
    return concordance.lines(TITLES, rows, cast(concordance.Encoding, encoding))


def xml(work: TaskWork) -> Iterator[bytes]:
    """EDRM XML. What is attached to what is read after the documents, so that memory holds neither."""
    documents = (
        edrm.document(
            fields(work, record),
            (edrm.ExternalFile(file.kind, file.path, file.bytes, bytes(file.md5).hex()) for file in record.files),
        )
        for record in records(work)
    )
    told = (fields(work, record) for record in records(work))
    return edrm.lines(documents, ((one["parent"], one["begin"]) for one in told if one["parent"]))


def opt(work: TaskWork) -> Iterator[bytes]:
    """Opticon: the pages of items that have any."""
    choice = work.job.options.production
    for record in records(work):
        pages = [file for file in record.files if file.kind == FileKind.IMAGE]
        if pages:
            begin = record.row.first_page or 0
            told = [(choice.control(begin + file.page - 1), file.path) for file in pages]
            yield opticon.lines(volume(record.row.volume), told)


OPT: Report = ("loadfile.opt", opt)
LOAD_FILES: tuple[Report, ...] = (OPT, ("loadfile.csv", metadata_table), ("loadfile.dat", dat), ("loadfile.xml", xml))
