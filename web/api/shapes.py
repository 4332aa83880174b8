"""From the controller's records to the API's models, where the fields are not simply the same."""

from __future__ import annotations

from dataclasses import asdict

from controller.browse.counts import Counted as Row
from controller.browse.counts import JobCounts as Counts
from core.errors import UsageError
from web.api.models.common import Counted
from web.api.models.items import Piece
from web.api.models.jobs import Children, ExceptionCount, JobCounts, PhaseCounts, TextCount


def custodian_of(row: Row) -> Counted:
    """Items of one name."""
    return Counted(name=row.name, items=row.items, bytes=row.bytes)


def counts_of(database: str, counts: Counts) -> JobCounts:
    """Everything counted of one job."""
    progress = counts.progress
    return JobCounts(
        id=counts.summary.job.id,
        database=database,
        items=counts.items,
        containers=counts.containers,
        loose_files=counts.loose_files,
        index_bytes=progress.index_bytes,
        phases={
            phase: PhaseCounts(
                tasks_done=part.done, tasks_open=part.open, items=part.items, seconds=round(part.elapsed_s, 3)
            )
            for phase, part in progress.phases.items()
        },
        kinds=[custodian_of(row) for row in counts.kinds],
        media_types=[custodian_of(row) for row in counts.media_types],
        texts=[TextCount(**asdict(row)) for row in counts.texts],
        exceptions=[ExceptionCount(**asdict(row)) for row in counts.exceptions],
        children=Children(**asdict(counts.children)),
        violations=[violation.line() for violation in counts.violations],
    )


def pieces(snippet: str, start: str, stop: str) -> list[Piece]:
    """A snippet cut at its marks; white space is one blank."""
    out: list[Piece] = []
    for number, part in enumerate(" ".join(snippet.split()).split(start)):
        marked, mark, rest = part.partition(stop)
        if number and mark:
            out.append(Piece(text=marked, match=True))
            part = rest
        if part:
            out.append(Piece(text=part.replace(stop, ""), match=False))
    return out


def field_of(error: UsageError) -> str:
    """The field that a command's error is about, by the option that it names; `body` where it names none."""
    for option, field in _FIELDS.items():
        if option in str(error):
            return field
    return "body"


_FIELDS = {
    "--source-copies is": "source_copies",
    "--shard": "shard",
    "--databases": "databases",
    "at least two databases": "databases",
    "--ocr-languages": "ocr_languages",
    "--ocr": "ocr",
    "--filer": "filer",
    "filer": "filer",
    "source": "source",
}
