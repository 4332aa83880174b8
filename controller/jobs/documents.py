"""Documents that `edbench job list -o json` and `edbench job show -o json` print."""

from __future__ import annotations

import datetime
import operator
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from controller.browse.counts import JobCounts
from controller.jobs.figures import ProductionFigures
from controller.jobs.progress import gb_per_hour
from controller.labels.rules import storage_text
from controller.observe.wire import WireShares
from core.bounds import Outcome
from core.document import Document, Milli, NotNone
from core.names import display_name
from core.records import GroupKind, JobState, Phase
from sql.figures import Children, ExceptionCount
from sql.jobs import GroupRow, JobProgress, JobSummary

Bounds = Annotated[
    list[Outcome],
    Field(exclude_if=operator.not_, description="Outcomes of the bounds of --fail-if, once the job has ended."),
]


class PhaseCounts(Document):
    """One phase of a job."""

    tasks_done: int
    tasks_open: int
    items: int
    seconds: Milli


def phases_of(counts: JobCounts) -> dict[Phase, PhaseCounts]:
    """Return the counts of the phases that have tasks."""
    return {
        phase: PhaseCounts(tasks_done=p.done, tasks_open=p.open, items=p.items, seconds=p.elapsed_s)
        for phase, p in counts.progress.phases.items()
    }


class JobLine(Document):
    """One job with its circumstances."""

    job_id: uuid.UUID
    group_id: uuid.UUID | None
    name: str
    type: str
    client: str
    project: str
    state: JobState
    phase: Phase
    reason: str | None
    source: str
    workers: int
    slots: int
    passes: int
    time_zone: str  # of dates without one
    storage: str  # type, source and path of the storage under test when it was created
    created_at: datetime.datetime
    finished_at: datetime.datetime | None


class ListedJob(JobLine):
    """One job in a list of all databases' jobs, with the figures that need no counting of its items."""

    database: str
    items: int
    raw_bytes: int
    discovered_bytes: int
    elapsed_s: Milli


class JobHolds(JobLine):
    """One job with counts of its content."""

    elapsed_s: Milli
    waiting: tuple[str, ...]
    items: int
    containers: int
    loose_files: int
    raw_bytes: int
    discovered_bytes: int
    index_bytes: int  # of the present index
    index_written_bytes: int
    phases: dict[Phase, PhaseCounts]
    kinds: dict[str, int]
    media_types: dict[str, int]
    texts: dict[str, int]
    exceptions: tuple[ExceptionCount, ...]
    children: Children
    violations: list[str]
    database: Annotated[str | None, NotNone] = None  # of a group's job


class JobDocument(JobHolds):
    """One job with counts of its content and the bytes read over the wire."""

    wire: WireShares | None
    bounds: Bounds = []  # noqa: RUF012  # pydantic copies it
    production: Annotated[ProductionFigures | None, NotNone] = None  # of a job that takes the items of others


class GroupSum(Document):
    """The jobs of a group together."""

    elapsed_s: Milli  # of the longest job
    items: int
    containers: int
    loose_files: int
    raw_bytes: int
    discovered_bytes: int
    gb_per_hour_raw: Milli  # over the longest job's elapsed time, as in report R1
    gb_per_hour_discovered: Milli
    exceptions: int
    children: Children


class GroupDocument(Document):
    """A group with its jobs."""

    group_id: uuid.UUID
    name: str
    kind: GroupKind
    databases: int
    source: str
    source_copies: int
    created_at: datetime.datetime
    wire: WireShares | None
    bounds: Bounds = []  # noqa: RUF012  # pydantic copies it
    sum: GroupSum
    jobs: list[JobHolds]


def line_of(summary: JobSummary, database: str, done: JobProgress) -> ListedJob:
    """Return the document of a job for the list."""
    return ListedJob.from_records(summary.job, summary, done, **_line(summary), database=database)


def holds_of(counts: JobCounts, database: str) -> JobHolds:
    """Return the document of a job of a group."""
    return JobHolds.from_records(*_records(counts), **_holds(counts), database=database)


def document_of(
    counts: JobCounts, wire: WireShares | None, bounds: list[Outcome], own: Mapping[str, Any]
) -> JobDocument:
    """Return the document of a job; `own`: the fields of its type (core.job_types)."""
    return JobDocument.from_records(*_records(counts), **_holds(counts), wire=wire, bounds=bounds, **own)


def group_document(
    row: GroupRow, wire: WireShares | None, bounds: list[Outcome], jobs: list[JobHolds]
) -> GroupDocument:
    """Return the document of a group."""
    return GroupDocument.from_records(
        row,
        group_id=row.id,
        databases=len(row.members),
        source=display_name(row.source),
        wire=wire,
        bounds=bounds,
        sum=sum_of(jobs),
        jobs=jobs,
    )


def sum_of(jobs: Sequence[JobHolds]) -> GroupSum:
    """Return the sums over the jobs of a group."""
    names = ("items", "containers", "loose_files", "raw_bytes", "discovered_bytes")
    sums = {name: sum(getattr(job, name) for job in jobs) for name in names}
    elapsed = max((job.elapsed_s for job in jobs), default=0.0)
    return GroupSum(
        **sums,
        elapsed_s=elapsed,
        gb_per_hour_raw=gb_per_hour(sums["raw_bytes"], elapsed),
        gb_per_hour_discovered=gb_per_hour(sums["discovered_bytes"], elapsed),
        exceptions=sum(row.exceptions for job in jobs for row in job.exceptions),
        children=Children(**{n: sum(getattr(job.children, n) for job in jobs) for n in Children.__match_args__}),
    )


def _line(summary: JobSummary) -> dict[str, Any]:
    job = summary.job
    return {
        "job_id": job.id,
        "source": display_name(job.source),
        "workers": summary.workers_planned,
        "slots": summary.slots_planned,
        "passes": 1 if job.options.single_pass else 2,
        "time_zone": job.options.time_zone,
        "storage": storage_text(summary.surroundings),
    }


def _records(counts: JobCounts) -> tuple[object, ...]:
    return counts.summary.job, counts.summary, counts, counts.progress


def _holds(counts: JobCounts) -> dict[str, Any]:
    return _line(counts.summary) | {
        "phases": phases_of(counts),
        "kinds": {row.name: row.items for row in counts.kinds},
        "media_types": {row.name: row.items for row in counts.media_types},
        "texts": {row.name: row.items for row in counts.texts},
        "violations": counts.violation_lines,
    }
