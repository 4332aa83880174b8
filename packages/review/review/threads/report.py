"""Threads, message by message."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from controller.databases import JobHandle
from controller.findings import ReviewKind, latest
from review.threads.run import ThreadsFound
from sql.review import REVIEW
from sql.session import Database

FIELDS = [
    "job",
    "thread",
    "item",
    "parent",
    "depth",
    "by",
    "sent_at",
    "date_original",
    "custodian",
    "container_path",
    "subject",
    "message_id",
]
_ROWS_AT_ONCE = 2_000


def last_threads(handles: Sequence[JobHandle], databases: Sequence[Database]) -> ThreadsFound:
    """The summary of the latest threading of these jobs; see `controller.findings.latest` for what is raised."""
    return ThreadsFound.model_validate(latest(handles, ReviewKind.THREADS, databases).figures)


def stream_threads(handles: Sequence[JobHandle]) -> Generator[dict[str, Any], None, None]:
    """Every message with the keys of FIELDS, the thread with the earliest one first, one job after the other. Close it if
    you do not read it to the end. Raises DatabaseFault."""
    for handle in handles:
        with handle.database.transaction() as conn:
            streaming = conn.execution_options(stream_results=True, yield_per=_ROWS_AT_ONCE)
            for row in REVIEW.threads(streaming, job=handle.id):
                plain = row._asdict() | {"item": str(row.item), "thread": str(row.thread)}
                yield {"job": str(handle.id)} | plain | {"parent": str(row.parent) if row.parent else None}
