"""Numbers of several productions of the same items: one number is one item's."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection

from core.errors import UsageError
from core.options.production import JobType, ProductionChoice
from sql import jobs
from sql.faces.production import PRODUCTION


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
        if (theirs.prefix, theirs.digits) != (choice.prefix, choice.digits) or None in (*ours[:2], *numbers[:2]):
            continue
        if ours.first > numbers.last or numbers.first > ours.last:  # type: ignore[operator]  none of them is None
            continue
        whole = numbers.paged or choice.type is JobType.PROCESSING
        if PRODUCTION.production_clash(conn, job=job, other=other, whole=whole):
            raise UsageError(
                f"numbers up to {choice.control(numbers.last)} are other items' in job {other}:"  # type: ignore[arg-type]
                f" give --first {numbers.last + 1}, or another --prefix",  # type: ignore[operator]
                field="first",
            )
