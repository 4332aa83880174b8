"""What a job takes, held until that job is there: whoever deletes or requeues it meanwhile waits, and then meets the job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from controller.databases import JobHandle
from core.errors import UsageError
from sql.faces.figures import FIGURES
from sql.faces.production import PRODUCTION
from sql.jobs import get_job


def hold(conn: Connection, sources: Sequence[JobHandle], images: JobHandle | None) -> list[JobHandle]:
    """The sources as they are now, until the end of the transaction that creates the job. All rows are locked in one order.
    Raises UsageError where one has gone, where the job that made the pages goes, or they are of items that were processed
    again since."""
    taken = [*sources, *([] if images is None else [images])]
    for job in sorted(handle.id for handle in taken):
        FIGURES.lock_job(conn, job=job)
    if images is not None:
        _refuse_outdated(conn, images)
    return [JobHandle(handle.database, get_job(conn, handle.id)) for handle in sources]


def _refuse_outdated(conn: Connection, images: JobHandle) -> None:
    state = get_job(conn, images.id).state
    if not state.completed:
        raise UsageError(f"--images {images.id} is {state} by now; process anew", field="images")
    if requeued := PRODUCTION.production_requeued(conn, job=images.id):
        raise UsageError(
            f"job {requeued[0]} was requeued after job {images.id} had taken its items, whose pages may be others now:"
            " process anew, then export those pages",
            field="images",
        )
