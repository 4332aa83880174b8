"""Finds equal items or families of finished jobs and stores the original of each (docs/review.md).

There is one transaction for each database, of statements over sets: after a kill the rows are the old or the new ones,
and a second run gives the same ones. The rows follow from the items alone, not from the order or time of runs."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from controller.databases import Jobs
from controller.findings import ReviewKind
from core.document import Document
from core.errors import UsageError
from readers.records import NO_FIELDS
from review.carry import carry
from review.kinds import By, Scope
from review.looked_at import Site, looked_at, note, transactions
from review.report import Report
from review.statements import REVIEW, DuplicateRow
from sql.connection import Connection
from sql.deletion import users_of


class Duplicates(Document):
    """The outcome of a de-duplication, over all of its jobs."""

    jobs: tuple[str, ...]
    scope: Scope
    by: By
    items: int
    containers: Annotated[
        int, Field(description="Containers among the items; their content is compared, not the containers.")
    ]
    compared: Annotated[int, Field(description="Items, or families, that were compared: all with bytes and a hash.")]
    groups: Annotated[int, Field(description="Groups of two or more equal items, or families; each has one original.")]
    copies: Annotated[int, Field(description="Items, or families, that are not the original of their group.")]
    duplicates: Annotated[
        int, Field(description="Items that are flagged as duplicates; by family, all members of the copies.")
    ]
    duplicate_bytes: int
    several_ids: Annotated[int, Field(description="Groups with several Message-ID hashes.")]
    several_hashes: Annotated[int, Field(description="Message-ID hashes of messages that are not all equal.")]


DUPLICATES = Report(
    ReviewKind.DEDUPE,
    Duplicates,
    DuplicateRow._fields,
    lambda conn, job, found: REVIEW.duplicates(conn, job=job, families=found.by is By.FAMILY),
)


def dedupe(references: Sequence[Jobs], scope: Scope, by: By) -> Duplicates:
    """De-duplicate these jobs, and replace their earlier findings of duplicates. Raises UsageError, also while a
    production uses those; DatabaseFault."""
    jobs = looked_at(references)
    with transactions(jobs) as sites:
        for site in sites:
            for job in site.ids:
                _refuse_used(site.conn, job)
        for site in sites:
            _compare(site, scope, by)
        _decide(sites)
        found = _store(sites, by) | {"scope": scope, "by": by, "jobs": tuple(str(job.handle.id) for job in jobs)}
        outcome = Duplicates.model_validate(found)
        figures = outcome.to_json()
        token = _token(figures, bytes(REVIEW.dedupe_digest(sites[0].conn)))
        note(sites, ReviewKind.DEDUPE, {"scope": scope.value, "by": by.value}, figures, token)
    return outcome


def _token(figures: dict[str, Any], digest: bytes) -> uuid.UUID:
    """Return a token that is the same for the same options and findings: a production that chose originals by it
    remains valid."""
    text = json.dumps(figures, sort_keys=True).encode()
    return uuid.UUID(bytes=hashlib.sha256(text + digest).digest()[:16])


def _compare(site: Site, scope: Scope, by: By) -> None:
    conn = site.conn
    REVIEW.dedupe_memory(conn)
    REVIEW.dedupe_tables(conn)
    REVIEW.dedupe_jobs(
        conn, jobs=site.ids, units=[job.unit for job in site.jobs], places=[job.place for job in site.jobs]
    )
    REVIEW.dedupe_unsure(conn)
    REVIEW.dedupe_keys(conn, scope=scope.value, empty=NO_FIELDS)
    (REVIEW.dedupe_items if by is By.ITEM else REVIEW.dedupe_families)(conn)


def _decide(sites: Sequence[Site]) -> None:
    """Group all items at the first site: the others send it their hashes, then the places of the items in a group."""
    home, others = sites[0], sites[1:]
    for site in others:
        carry(site.conn, "compared", home.conn)
    REVIEW.dedupe_groups(home.conn)
    for site in others:
        carry(home.conn, "in_group", site.conn, _places(site))
    for site in sites:
        REVIEW.dedupe_places(site.conn)
    for site in others:
        carry(site.conn, "placed", home.conn)
    REVIEW.dedupe_outcome(home.conn)
    for site in others:
        carry(home.conn, "outcome", site.conn, _places(site))


def _places(site: Site) -> list[int]:
    return [job.place for job in site.jobs]


def _store(sites: Sequence[Site], by: By) -> dict[str, int]:
    """Store the outcome; return the counts over all sites."""
    counts: dict[str, int] = REVIEW.dedupe_group_counts(sites[0].conn)._asdict()
    for site in sites:
        REVIEW.dedupe_clear(site.conn)
        (REVIEW.dedupe_store_items if by is By.ITEM else REVIEW.dedupe_store_families)(site.conn)
        for name, value in REVIEW.dedupe_counts(site.conn)._asdict().items():
            counts[name] = counts.get(name, 0) + value
    return counts


def _refuse_used(conn: Connection, job: uuid.UUID) -> None:
    """Raise UsageError while a job that is not over uses the duplicates found in this one. The job's row must be
    locked."""
    if users := users_of(conn, job, findings=True):
        raise UsageError(
            f"job {users[0]} uses the duplicates found in job {job}; wait until it has ended, or cancel it"
        )
