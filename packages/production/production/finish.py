"""Phase finalise of jobs that produce: remove files that no row names, write the reports on the whole job, and sync all
of it to stable storage.

Two tasks share it, each with about half of the work and its own reports. The rows are read twice, which costs a slot
less than half of the time that it would wait for the other task's reports. The tasks need no order: each syncs after
its own writing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, closing, nullcontext

from core.errors import SourceFileError, StorageFault
from core.job_types import JobType
from core.names import display_name
from core.places import renderings_location
from core.records import FINALISE_LIST, FINALISE_REST
from core.storage.layer import EntryKind
from core.storage.whole import strays
from production.layout import KINDS, REPORTS, Place, draft_of, folder, is_draft
from production.options import ProducedFile, ProductionChoice
from production.output import Growing, Output
from production.reports import (
    Dat,
    HashTable,
    LoadTable,
    MetadataLines,
    MetadataTable,
    Opt,
    Report,
    Withheld,
    Xml,
    records,
)
from production.rows import ProducedFindings
from production.statements import PRODUCTION
from readers.errors import ExceptionCode
from sql.findings import TaskResult
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity

_NAMED: Mapping[str, type[Report]] = {
    kind.path: kind for kind in (MetadataLines, MetadataTable, Opt, LoadTable, Dat, Xml, HashTable, Withheld)
}
# The reports that a type of job writes at its end.
ENDS: Mapping[JobType, tuple[type[Report], ...]] = {
    kind: tuple(_NAMED[path] for path in paths) for kind, paths in REPORTS.items()
}


def run(work: TaskWork) -> TaskResult:
    """Do this task's share: remove everything that the database does not know, and write the reports."""
    out = Output(work)
    shares = set(work.claimed.payload[FINALISE_LIST])
    ends = [(number, end) for number, end in enumerate(_ends(out.choice), 1) if end.share in shares]
    rest = FINALISE_REST in shares
    # Earlier phases have left a gigabyte and more in the host's cache: it goes to the disk while reports are written.
    with work.storage.begin_sync(out.path) if rest else nullcontext():
        try:
            if rest:
                _sweep_all(out)
            _sweep_drafts(out, {end.path.encode() for _, end in ends})
            files = _reports(out, ends)
            if rest:
                rendered = os.path.join(work.root, renderings_location(work.job.id))
                work.context.breadcrumb.doing(Activity.REMOVING, rendered)
                work.storage.remove_tree(rendered)  # pages that the job kept between its phases
        finally:  # the end of the block waits for the disk, also after an error: SYNCING has a long limit
            work.context.breadcrumb.doing(Activity.SYNCING, out.path)
    work.storage.sync_tree(out.path)
    return TaskResult(own=ProducedFindings(files=files), extracted_bytes=out.written)


def _reports(out: Output, ends: Sequence[tuple[int, type[Report]]]) -> tuple[ProducedFile, ...]:
    """Write these reports together: the rows of the items are read once."""
    work = out.work
    work.context.breadcrumb.doing(Activity.REPORTING, out.path)
    written: list[Growing] = []
    with ExitStack() as stack:
        pairs = []
        for number, end in ends:
            report = stack.enter_context(closing(end(work)))
            written.append(stack.enter_context(out.growing(end.path, number)))
            pairs.append((report, written[-1].add))
        for report, add in pairs:
            add(report.head())
        for some in records(work):
            for report, add in pairs:
                add(report.some(some))
                work.context.breadcrumb.alive()
        for report, add in pairs:
            for piece in report.tail():
                add(piece)
    return tuple(each.file for each in written if each.file is not None)


def _ends(choice: ProductionChoice) -> Iterator[type[Report]]:
    """Yield the reports of this job. An export without images has no pages, and no numbers from an earlier job."""
    wanted: dict[type[Report], bool] = {
        Opt: choice.type is not JobType.EXPORT or bool(choice.images),
        Withheld: bool(choice.images and choice.withheld),
    }
    return (report for report in ENDS[choice.type] if wanted.get(report, True))


def _sweep_all(out: Output) -> None:
    """Sweep every folder. Raises StorageFault if files that load files would name are gone."""
    with out.work.database.transaction() as conn:
        places = PRODUCTION.production_folders(conn, job=out.work.job.id)
    lost = [path for place in places for path in _sweep(out, Place(place.volume, place.folder))]
    if lost:
        raise StorageFault(
            f"{len(lost):,} files that job {out.work.job.id} wrote below {display_name(out.path)} are missing, "
            f"among them {display_name(lost[0])}; restore them"
        )


def _sweep(out: Output, place: Place) -> list[bytes]:
    """Remove files of lost claims (the directory is the job's own), and return the files that are missing."""
    work = out.work
    with work.database.transaction() as conn:
        wanted = set(PRODUCTION.production_files_of(conn, job=work.job.id, volume=place.volume, folder=place.folder))
    for kind in KINDS:
        relative = folder(kind, place)
        path = os.path.join(out.path, os.fsencode(relative))
        work.context.breadcrumb.doing(Activity.LISTING, path)
        try:
            listing = work.storage.listing(path, work.context.scratch, work.context.breadcrumb.alive)
        except SourceFileError as e:
            if e.code is ExceptionCode.VANISHED:
                continue  # there was nothing to be written
            raise
        with listing:
            files = (entry.name for entries in listing for entry in entries if entry.kind is EntryKind.FILE)
            found = {f"{relative}/{os.fsdecode(name)}" for name in files}
        for stray in strays(found, wanted):
            work.storage.remove(os.path.join(out.path, os.fsencode(stray)), missing_ok=True)
        wanted -= found
    return [path for one in sorted(wanted) if not _is_there(out, path := os.fsencode(one))]


def _is_there(out: Output, relative: bytes) -> bool:
    """Return whether the file exists; a listing may be older than another worker's writes."""
    try:
        return stat.S_ISREG(out.work.storage.stat(os.path.join(out.path, relative)).st_mode)
    except SourceFileError as e:
        if e.code is ExceptionCode.VANISHED:
            return False
        raise


def _sweep_drafts(out: Output, reports: AbstractSet[bytes]) -> None:
    """Remove drafts of these reports that an earlier claim did not complete. If that claim still runs, its drafts lose
    their names as well: it has read rows that may have changed since, and cannot replace the reports that are written
    now."""
    for entry in out.work.storage.scan(out.path):
        if is_draft(entry.name) and draft_of(entry.name) in reports:
            out.work.storage.remove(os.path.join(out.path, entry.name), missing_ok=True)
