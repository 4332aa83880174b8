"""What a job holds, counted: by phase, kind, media type, text state and exception code."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from pydantic import Field
from sqlalchemy import Connection

from controller.databases import JobHandle
from core.document import Document, Milli
from core.records import Phase
from sql import jobs as ledger_jobs
from sql.faces.figures import FIGURES
from sql.jobs import JobProgress, JobSummary

VIOLATIONS_SHOWN = 20


class Counted(Document):
    """Items that have something in common."""

    name: str
    items: int
    bytes: int


class PhaseCounts(Document):
    """One phase of a job."""

    tasks_done: int
    tasks_open: int
    items: int
    seconds: Milli


class ExceptionCount(Document):
    """Exceptions of one code at one level."""

    code: str
    level: str
    exceptions: int
    missing: int = Field(description="Children lost by them, where known.")


class TextCount(Document):
    """Items of one text state."""

    name: str
    items: int
    characters: int
    pages: int


class Children(Document):
    """Children over all containers; expected must be emitted and failed together."""

    expected: int
    emitted: int
    failed: int
    remainder_unknown: int = Field(0, description="Containers that were cut short, so that more may be missing.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A container whose counts do not add up."""

    item: uuid.UUID
    container_path: tuple[str, ...]
    announced: int | None
    emitted: int
    failed: int
    rows: int  # items that name it as their parent

    def line(self) -> str:
        """For people."""
        expected = "?" if self.announced is None else f"{self.announced:,}"
        return (
            f"{' / '.join(self.container_path)}: expected {expected}, emitted {self.emitted:,},"
            f" failed {self.failed:,}, rows {self.rows:,}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Everything that `edbench job` shows."""

    summary: JobSummary
    progress: JobProgress
    items: int
    containers: int
    loose_files: int
    kinds: tuple[Counted, ...]
    media_types: tuple[Counted, ...]
    texts: tuple[TextCount, ...]
    exceptions: tuple[ExceptionCount, ...]
    children: Children
    violations: tuple[Violation, ...]

    @property
    def phases(self) -> dict[Phase, PhaseCounts]:
        """Those with tasks."""
        return {
            phase: PhaseCounts(tasks_done=p.done, tasks_open=p.open, items=p.items, seconds=p.elapsed_s)
            for phase, p in self.progress.phases.items()
        }

    @property
    def violation_lines(self) -> list[str]:
        """For people."""
        return [violation.line() for violation in self.violations]


def children_of(conn: Connection, job: uuid.UUID) -> Children:
    """Totals over the job's containers."""
    return Children(**FIGURES.children_totals(conn, job=job)._asdict())


def violations_of(conn: Connection, job: uuid.UUID, limit: int = VIOLATIONS_SHOWN) -> tuple[Violation, ...]:
    """Containers whose counts do not add up, at most `limit`; there should be none."""
    return tuple(
        Violation(
            item=row.id,
            container_path=tuple(row.container_path),
            announced=row.announced,
            emitted=row.emitted,
            failed=row.failed,
            rows=row.rows,
        )
        for row in FIGURES.children_violations(conn, job=job, limit=limit)
    )


def exceptions_of(conn: Connection, job: uuid.UUID) -> tuple[ExceptionCount, ...]:
    """Exceptions by code and level, most frequent first."""
    return tuple(ExceptionCount(**row._asdict()) for row in FIGURES.count_exceptions(conn, job=job))


def count_job(handle: JobHandle) -> JobCounts:
    """All counts of a job, as of one moment. Raises DatabaseFault, UsageError when it is gone."""
    with handle.database.transaction() as conn:
        totals = FIGURES.count_items(conn, job=handle.id)
        return JobCounts(
            summary=ledger_jobs.summary(conn, handle.id),
            progress=ledger_jobs.progress(conn, handle.id),
            items=totals.items,
            containers=totals.containers,
            loose_files=totals.loose_files,
            kinds=tuple(Counted(**row._asdict()) for row in FIGURES.count_kinds(conn, job=handle.id)),
            media_types=tuple(Counted(**row._asdict()) for row in FIGURES.count_media_types(conn, job=handle.id)),
            texts=tuple(TextCount(**row._asdict()) for row in FIGURES.count_texts(conn, job=handle.id)),
            exceptions=exceptions_of(conn, handle.id),
            children=children_of(conn, handle.id),
            violations=violations_of(conn, handle.id),
        )
