"""Counts of a job's content: by phase, kind, media type, text state and exception code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.databases import JobHandle
from sql import jobs as ledger_jobs
from sql.browse import BROWSE, Failure
from sql.figures import FIGURES, Children, ExceptionCount, ItemCount, TextCount, Violation
from sql.jobs import JobProgress, JobSummary

_EXCEPTIONS_AT_ONCE = 2_000
EXCEPTION_FIELDS = tuple(name for name in Failure._fields if name != "number")


def exceptions_by(handles: Sequence[JobHandle], by: str, code: str | None = None) -> list[dict[str, Any]]:
    """Count exceptions by `code`, `type` or `custodian`, most frequent first, of one code if given."""
    sums: dict[str, dict[str, int]] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for row in BROWSE.exceptions_by(conn, job=handle.id, by=by, code=code):
                into = sums.setdefault(row.name, {"exceptions": 0, "items": 0, "missing": 0})
                for key in into:
                    into[key] += getattr(row, key)
    ordered = sorted(sums.items(), key=lambda pair: (-pair[1]["exceptions"], pair[0]))
    return [{"name": name, **counts} for name, counts in ordered]


def stream_exceptions(handles: Sequence[JobHandle], wanted: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
    """Yield every exception with the keys of EXCEPTION_FIELDS, job by job; `wanted` may give code, type and custodian.
    No transaction is open while the caller handles a row."""
    filters = {key: wanted.get(key) for key in ("code", "type", "custodian")}
    for handle in handles:
        after = -1
        while True:
            with handle.database.transaction() as conn:
                rows = BROWSE.exceptions_page(conn, job=handle.id, after=after, limit=_EXCEPTIONS_AT_ONCE, **filters)
            for row in rows:
                yield {key: getattr(row, key) for key in EXCEPTION_FIELDS}
            if len(rows) < _EXCEPTIONS_AT_ONCE:
                break
            after = rows[-1].number


VIOLATIONS_SHOWN = 20  # containers whose counts do not add up; there should be none


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """Everything that `edbench job show` prints."""

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
        """The violations, one printable line each."""
        return [violation.line() for violation in self.violations]


def count_job(handle: JobHandle) -> JobCounts:
    """Return all counts of a job, as of one moment. Raises DatabaseFault, UsageError if the job is gone."""
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
            violations=tuple(FIGURES.children_violations(conn, job=handle.id, limit=VIOLATIONS_SHOWN)),
        )
