"""Groups the messages of finished jobs into threads and stores each one's place (docs/review.md).
There is one transaction for each database; after a kill the rows are the old or the new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated
from uuid import UUID

from pydantic import Field

from controller.databases import Jobs
from controller.findings import ReviewKind
from core.document import Document
from readers.records import NO_FIELDS
from review.looked_at import LookedAt, Site, looked_at, note, transactions
from review.report import Report
from review.statements import REVIEW, MailRow, ThreadRow
from review.threads.linking import NO_ID, By, Mail, Place, Threads

ROWS_AT_ONCE = 10_000
_Message = tuple[Site, LookedAt, MailRow]


class ThreadsFound(Document):
    """The outcome of threading, over all of its jobs."""

    jobs: tuple[str, ...]
    subjects: Annotated[bool, Field(description="Whether answers without references were placed by their subject.")]
    messages: int
    threads: int
    largest: Annotated[int, Field(description="Messages in the largest thread.")]
    deepest: Annotated[int, Field(description="Depth of the deepest message.")]
    by: Annotated[dict[str, int], Field(description="Messages by the field that placed them.")]
    without_id: Annotated[int, Field(description="Messages without a Message-ID.")]
    without_date: int


THREADS = Report(
    ReviewKind.THREADS, ThreadsFound, ThreadRow._fields, lambda conn, job, _: REVIEW.threads(conn, job=job)
)


def thread(references: Sequence[Jobs], *, subjects: bool) -> ThreadsFound:
    """Group the messages of these jobs into threads, and replace earlier findings. Raises UsageError, DatabaseFault."""
    jobs = looked_at(references)
    with transactions(jobs) as sites:
        messages = list(_messages(sites))
        places = Threads().link([_mail(row) for _, _, row in messages], subjects=subjects)
        _store(sites, messages, places)
        sizes = Counter(place.thread for place in places)
        outcome = ThreadsFound(
            jobs=tuple(str(job.handle.id) for job in jobs),
            subjects=subjects,
            messages=len(messages),
            threads=len(sizes),
            largest=max(sizes.values(), default=0),
            deepest=max((place.depth for place in places), default=0),
            by={by.value: count for by in By if (count := sum(place.by is by for place in places))},
            without_id=sum(row.message_id is None for _, _, row in messages),
            without_date=sum(_when(row.sent or "") is None for _, _, row in messages),
        )
        note(sites, ReviewKind.THREADS, {"subjects": subjects}, outcome.to_json())
    return outcome


def _messages(sites: Sequence[Site]) -> Iterator[_Message]:
    """Yield the messages in the order of jobs, then of custodians and paths."""
    every = sorted(((job, site) for site in sites for job in site.jobs), key=lambda pair: pair[0].place)
    for job, site in every:
        for row in REVIEW.thread_messages(site.conn, job=job.handle.id, empty=NO_FIELDS):
            yield site, job, row


def _when(date: str) -> datetime | None:
    """Parse the time in `date`, in UTC if it names no zone; None for one that does not exist."""
    try:
        when = datetime.fromisoformat(date)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _mail(row: MailRow) -> Mail:
    return Mail(
        key=row.message_id or f"{NO_ID}{row.content}",
        references=tuple(row.reference_ids),
        in_reply_to=row.in_reply_to or "",
        conversation=row.conversation or "",
        subject=row.subject or "",
        sent=row.sent or "",
    )


def _store(sites: Sequence[Site], messages: Sequence[_Message], places: Sequence[Place]) -> None:
    """Store the places. If the message above has copies, a message's parent is its own custodian's copy if there is
    one, else the first."""
    first: dict[int, UUID] = {}
    nearest: dict[tuple[int, int, int], UUID] = {}
    for (_, job, row), place in zip(messages, places, strict=True):
        first.setdefault(place.node, row.id)
        nearest.setdefault((place.node, job.place, row.custodian), row.id)
    for site in sites:
        for job in site.jobs:
            REVIEW.clear_threads(site.conn, job=job.handle.id)
    rows = iter(zip(messages, places, strict=True))
    while some := list(islice(rows, ROWS_AT_ONCE)):
        for job in {id(one): one for (_, one, _), _ in some}.values():
            own = [(site, row, place) for (site, of, row), place in some if of is job]
            parents = [
                None
                if place.parent is None
                else nearest.get((place.parent, job.place, row.custodian), first[place.parent])
                for _, row, place in own
            ]
            REVIEW.put_threads(
                own[0][0].conn,
                job=job.handle.id,
                items=[row.id for _, row, _ in own],
                threads=[place.thread for _, _, place in own],
                parents=parents,
                depths=[place.depth for _, _, place in own],
                by=[place.by.value for _, _, place in own],
                sent=[_when(row.sent or "") for _, row, _ in own],
            )
