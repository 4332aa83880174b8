"""What a job holds, counted: by phase, kind, media type, text state and exception code."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection

from controller.databases import JobHandle
from core.names import display_name
from sql import jobs as ledger_jobs
from sql.jobs import JobProgress, JobSummary
from sql.queries import QUERIES

VIOLATIONS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Items of one kind, or of one media type."""

    name: str
    items: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionCount:
    """Exceptions of one code at one level."""

    code: str
    level: str
    exceptions: int
    missing: int  # children lost by them, where known


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCount:
    """Items of one text state."""

    name: str
    items: int
    characters: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Children over all containers; the first must be the sum of the other two."""

    expected: int
    emitted: int
    failed: int
    remainder_unknown: int = 0  # containers that were cut short, so that more may be missing


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


def children_of(conn: Connection, job: uuid.UUID) -> Children:
    """Totals over the job's containers."""
    row = QUERIES["children_totals"].run(conn, job=job).one()
    return Children(**row._mapping)


def violations_of(conn: Connection, job: uuid.UUID, limit: int = VIOLATIONS_SHOWN) -> tuple[Violation, ...]:
    """Containers whose counts do not add up, at most `limit`; there should be none."""
    rows = QUERIES["children_violations"].run(conn, job=job, limit=limit)
    return tuple(
        Violation(
            item=row.id,
            container_path=tuple(row.container_path),
            announced=row.announced,
            emitted=row.emitted,
            failed=row.failed,
            rows=row.rows,
        )
        for row in rows
    )


def exceptions_of(conn: Connection, job: uuid.UUID) -> tuple[ExceptionCount, ...]:
    """Exceptions by code and level, most frequent first."""
    return tuple(ExceptionCount(**row._mapping) for row in QUERIES["count_exceptions"].run(conn, job=job))


def count_job(handle: JobHandle) -> JobCounts:
    """All counts of a job, as of one moment. Raises DatabaseFault, UsageError when it is gone."""
    with handle.database.transaction() as conn:
        totals = QUERIES["count_items"].run(conn, job=handle.id).one()
        return JobCounts(
            summary=ledger_jobs.summary(conn, handle.id),
            progress=ledger_jobs.progress(conn, handle.id),
            items=totals.items,
            containers=totals.containers,
            loose_files=totals.loose_files,
            kinds=tuple(Counted(**row._mapping) for row in QUERIES["count_kinds"].run(conn, job=handle.id)),
            media_types=tuple(Counted(**row._mapping) for row in QUERIES["count_media_types"].run(conn, job=handle.id)),
            texts=tuple(TextCount(**row._mapping) for row in QUERIES["count_texts"].run(conn, job=handle.id)),
            exceptions=exceptions_of(conn, handle.id),
            children=children_of(conn, handle.id),
            violations=violations_of(conn, handle.id),
        )


def summary_json(summary: JobSummary) -> dict[str, Any]:
    """One row of `edbench jobs --json`."""
    return {
        "job_id": str(summary.job.id),
        "group_id": str(summary.group_id) if summary.group_id else None,
        "name": summary.job.name,
        "type": summary.type,
        "client": summary.client,
        "project": summary.project,
        "state": summary.job.state.value,
        "phase": summary.job.phase.value,
        "reason": summary.job.reason,
        "source": display_name(summary.job.source),
        "workers": summary.workers_planned,
        "slots": summary.slots_planned,
        "passes": 1 if summary.job.options.single_pass else 2,
        "created_at": summary.created_at.isoformat(),
        "finished_at": summary.finished_at.isoformat() if summary.finished_at else None,
    }


def counts_json(counts: JobCounts) -> dict[str, Any]:
    """`edbench job --json`."""
    return summary_json(counts.summary) | {
        "elapsed_s": round(counts.progress.elapsed_s, 3),
        "waiting": list(counts.progress.waiting),
        "items": counts.items,
        "containers": counts.containers,
        "loose_files": counts.loose_files,
        "raw_bytes": counts.progress.raw_bytes,
        "discovered_bytes": counts.progress.raw_bytes + counts.progress.extracted_bytes,
        "index_bytes": counts.progress.index_bytes,
        "phases": {
            phase.value: {
                "tasks_done": part.done,
                "tasks_open": part.open,
                "items": part.items,
                "seconds": round(part.elapsed_s, 3),
            }
            for phase, part in counts.progress.phases.items()
        },
        "kinds": {row.name: row.items for row in counts.kinds},
        "media_types": {row.name: row.items for row in counts.media_types},
        "texts": {row.name: row.items for row in counts.texts},
        "exceptions": [asdict(row) for row in counts.exceptions],
        "children": asdict(counts.children),
        "violations": [violation.line() for violation in counts.violations],
    }
