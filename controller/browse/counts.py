"""What a job holds, counted: by phase, kind, media type, text state and exception code."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.databases import JobHandle
from sql import jobs as ledger_jobs
from sql.faces.figures import FIGURES, Children, ExceptionCount, ItemCount, TextCount
from sql.jobs import JobProgress, JobSummary

if TYPE_CHECKING:
    from sqlalchemy import Connection

VIOLATIONS_SHOWN = 20


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
    """Everything that `edbench job show` shows."""

    summary: JobSummary
    progress: JobProgress
    items: int
    containers: int
    loose_files: int
    kinds: tuple[ItemCount, ...]
    media_types: tuple[ItemCount, ...]
    texts: tuple[TextCount, ...]
    exceptions: tuple[ExceptionCount, ...]  # most frequent first
    children: Children
    violations: tuple[Violation, ...]

    @property
    def violation_lines(self) -> list[str]:
        """For people."""
        return [violation.line() for violation in self.violations]


def violations_of(conn: Connection, job: uuid.UUID) -> tuple[Violation, ...]:
    """Containers whose counts do not add up, at most VIOLATIONS_SHOWN; there should be none."""
    return tuple(
        Violation(
            item=row.id,
            container_path=tuple(row.container_path),
            announced=row.announced,
            emitted=row.emitted,
            failed=row.failed,
            rows=row.rows,
        )
        for row in FIGURES.children_violations(conn, job=job, limit=VIOLATIONS_SHOWN)
    )


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
            kinds=tuple(FIGURES.count_kinds(conn, job=handle.id)),
            media_types=tuple(FIGURES.count_media_types(conn, job=handle.id)),
            texts=tuple(FIGURES.count_texts(conn, job=handle.id)),
            exceptions=tuple(FIGURES.count_exceptions(conn, job=handle.id)),
            children=FIGURES.children_totals(conn, job=handle.id),
            violations=violations_of(conn, handle.id),
        )
