"""Numbers of several productions of the same items: one number is one item's."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection

from core.errors import UsageError
from core.options.production import JobType, ProductionChoice
from sql import jobs
from sql.faces.production import PRODUCTION, Range


def refuse_given_numbers(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> None:
    """In the transaction that creates the job. Raises UsageError where one of its numbers is another item's in a job of the
    same type that takes items of the same discovery; the same numbers of the same items are no clash. An extraction's are
    no production's, and pages that nobody has counted yet are taken for one an item."""
    if choice.type is JobType.EXTRACTION or choice.images:
        return
    PRODUCTION.production_alone(conn)
    ours = PRODUCTION.production_range(conn, job=job)
    for other in PRODUCTION.production_siblings(conn, type=choice.type, job=job, sources=list(choice.sources)):
        theirs, numbers = jobs.get_job(conn, other).options.production, PRODUCTION.production_range(conn, job=other)
        if (theirs.prefix, theirs.digits) != (choice.prefix, choice.digits) or not _meet(ours, numbers):
            continue
        whole = numbers.paged or choice.type is JobType.PROCESSING
        if PRODUCTION.production_clash(conn, job=job, other=other, whole=whole):
            last = numbers.last or 0
            raise UsageError(
                f"numbers up to {choice.control(last)} are other items' in job {other}: give --first {last + 1}, or another"
                " --prefix",
                field="first",
            )


def _meet(one: Range, other: Range) -> bool:
    if one.first is None or one.last is None or other.first is None or other.last is None:
        return False
    return one.first <= other.last and other.first <= one.last
