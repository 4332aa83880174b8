"""Counts of a job's content: by phase, kind, media type, text state and exception code."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, TypeVar

from controller.databases import JobHandle
from sql import jobs as ledger_jobs
from sql.browse import BROWSE, Failure, FailureCount
from sql.figures import FIGURES, Children, ExceptionCount, ItemCount, TextCount, Violation
from sql.jobs import JobProgress, JobSummary

Row = TypeVar("Row", ItemCount, TextCount, FailureCount)
_EXCEPTIONS_AT_ONCE = 2_000
EXCEPTION_FIELDS = tuple(name for name in Failure._fields if name != "number")


def exceptions_by(handles: Sequence[JobHandle], by: str, code: str | None = None) -> list[FailureCount]:
    """Count exceptions by `code`, `type` or `custodian`, most frequent first, of one code if given."""
    return _summed(handles, partial(BROWSE.exceptions_by, by=by, code=code))


def custodians_of_jobs(handles: Sequence[JobHandle]) -> list[ItemCount]:
    """Count items by custodian over all jobs, most items first."""
    return _summed(handles, BROWSE.count_custodians)


def texts_of_jobs(handles: Sequence[JobHandle]) -> list[TextCount]:
    """Count items by text state over all jobs, most items first."""
    return _summed(handles, FIGURES.count_texts)


def _summed(handles: Sequence[JobHandle], query: Callable[..., list[Row]]) -> list[Row]:
    """Return the rows of all jobs, those of one name added up, the largest first number first."""
    sums: dict[str, Row] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for row in query(conn, job=handle.id):
                before = astuple(sums[row.name])[1:] if row.name in sums else itertools.repeat(0)
                sums[row.name] = type(row)(row.name, *map(operator.add, astuple(row)[1:], before))
    return sorted(sums.values(), key=lambda row: (-astuple(row)[1], row.name))


def stream_exceptions(handles: Sequence[JobHandle], wanted: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
    """Yield every exception with the keys of EXCEPTION_FIELDS, job by job; `wanted` may give code, type and custodian.
    No transaction is open while the caller handles a row."""
    filters = {key: wanted.get(key) for key in ("code", "type", "custodian")}
    for handle in handles:
        after = -1
        while True:
            rows = handle.database.ask(
                BROWSE.exceptions_page, job=handle.id, after=after, limit=_EXCEPTIONS_AT_ONCE, **filters
            )
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
