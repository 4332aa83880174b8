"""What a job takes, held until that job is there: whoever deletes or requeues it meanwhile waits, and then meets the job.

Who tags its items does not wait, however long that takes. Where it was a tag that the job goes by, this is refused at its end.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from controller.databases import JobHandle
from core.errors import UsageError
from core.options.production import ProductionChoice
from sql.faces.figures import FIGURES
from sql.faces.production import PRODUCTION
from sql.jobs import get_job


def hold(conn: Connection, sources: Sequence[JobHandle], images: JobHandle | None) -> list[JobHandle]:
    """The sources as they are now, until the end of the transaction that creates the job. All rows are locked in one order.
    Raises UsageError where one has gone, where the job that made the pages goes, or they are of items that were processed
    again since."""
    taken = [*sources, *([] if images is None else [images])]
    for job in sorted(handle.id for handle in taken):
        FIGURES.keep_job(conn, job=job)
    if images is not None:
        _refuse_outdated(conn, images)
    return [JobHandle(handle.database, get_job(conn, handle.id)) for handle in sources]


@dataclass(frozen=True, slots=True)
class GoesBy:
    """The tags that a job goes by: its own, those that it withholds, those of its query."""

    tags: tuple[str, ...]
    changes: int  # of items of its sources that were given one of them, or lost it


def goes_by(sources: Sequence[JobHandle], tags: Iterable[str]) -> GoesBy:
    """Before anything is chosen by them."""
    every = tuple(sorted(set(tags)))
    if not every:
        return GoesBy((), 0)
    with sources[0].database.transaction() as conn:
        return GoesBy(every, _changes(conn, sources, every))


def lock_sources(
    conn: Connection, sources: Sequence[JobHandle], by: GoesBy, images: JobHandle | None = None
) -> list[JobHandle]:
    """At the end, to write into their lists and that of the job whose pages are taken, all of which are given back; in one
    order. Raises UsageError where somebody gave or took one of the tags meanwhile."""
    taken = [*sources, *([] if images is None else [images])]
    for job in sorted(handle.id for handle in taken):
        FIGURES.lock_job(conn, job=job)
    if by.tags and _changes(conn, sources, by.tags) != by.changes:
        raise UsageError(
            f"items got or lost a tag that this job selects by meanwhile ({', '.join(by.tags)}); run the command again"
        )
    return taken


def tag_changes(conn: Connection, choice: ProductionChoice) -> int:
    """How often since a job was made items of its sources were given a tag that it goes by, or lost it: it does not go by that. 0
    where one of them was deleted, with what is known of its tags."""
    jobs = [uuid.UUID(source) for source in choice.sources]
    if not choice.goes_by or PRODUCTION.production_sources_there(conn, jobs=jobs) < len(jobs):
        return 0
    return PRODUCTION.production_tag_changes(conn, jobs=jobs, tags=list(choice.goes_by)) - choice.tag_changes


def _changes(conn: Connection, sources: Sequence[JobHandle], tags: Sequence[str]) -> int:
    return PRODUCTION.production_tag_changes(conn, jobs=[handle.id for handle in sources], tags=list(tags))


def _refuse_outdated(conn: Connection, images: JobHandle) -> None:
    state = get_job(conn, images.id).state
    if not state.completed:
        raise UsageError(f"--images {images.id} is {state} now; run the processing job again", field="images")
    if requeued := PRODUCTION.production_requeued(conn, job=images.id):
        raise UsageError(
            f"job {requeued[0]} was requeued after job {images.id} had chosen its items, whose pages may have changed:"
            " run the processing job again, then export its pages",
            field="images",
        )
