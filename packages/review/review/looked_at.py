"""The jobs of a review, with one transaction over all of their databases.

The databases' commits follow one another. Each writes the same token with the findings (a random one, unless the kind
has its own, as duplicates have), the first database's last: if the tokens of jobs that were reviewed together differ,
the review was interrupted between two commits."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from controller.custody import note as note_action
from controller.databases import JobHandle, Jobs
from controller.findings import ReviewKind
from core.errors import UsageError
from core.job_types import JobType
from core.plain import grouped
from core.records import GroupKind
from review.statements import REVIEW
from sql.connection import Connection


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A job of a review. `place`: its number in the given order; `unit`: the same for jobs that are parts of one."""

    handle: JobHandle
    place: int
    unit: int


def looked_at(references: Sequence[Jobs]) -> list[LookedAt]:
    """Return the jobs of these ids, in the given order, a group's in the order of its databases. Raises UsageError if
    one is named twice or has not completed."""
    out: list[LookedAt] = []
    for unit, reference in enumerate(references):
        parts = reference.group is not None and reference.group.kind is GroupKind.SHARDED
        for number, handle in enumerate(reference.each):
            if not handle.job.state.completed or handle.job.options.type is not JobType.DISCOVERY:
                raise UsageError(
                    f"job {handle.id} is {handle.job.state}; only completed discovery jobs can be reviewed"
                )
            if any(one.handle.id == handle.id for one in out):
                raise UsageError(f"job {handle.id} is given twice")
            out.append(LookedAt(handle, len(out), (unit << 20) + (0 if parts else number)))
    if not out:
        raise UsageError("the group has no jobs")
    return out


@dataclass(frozen=True, slots=True)
class Site:
    """A database with its jobs under review, and its open transaction."""

    conn: Connection
    jobs: tuple[LookedAt, ...]

    @property
    def ids(self) -> list[uuid.UUID]:
        """The jobs' ids."""
        return [job.handle.id for job in self.jobs]


@contextmanager
def transactions(jobs: Sequence[LookedAt]) -> Iterator[list[Site]]:
    """Open a durable transaction on each database, in order of their names; the first commits last. The jobs' rows are
    locked, so that no other command deletes or reviews them meanwhile. Raises UsageError if a job was deleted,
    DatabaseFault."""
    by_name = grouped(jobs, lambda job: job.handle.database.name)
    with ExitStack() as stack:
        sites = []
        for _, own in sorted(by_name.items()):
            site = Site(stack.enter_context(own[0].handle.database.transaction(durable=True)), tuple(own))
            if len(REVIEW.lock_reviewed(site.conn, jobs=site.ids)) != len(own):
                raise UsageError("one of the jobs has been deleted; see `edbench job list`")
            sites.append(site)
        yield sites


def note(
    sites: Sequence[Site],
    kind: ReviewKind,
    options: dict[str, Any],
    figures: dict[str, Any],
    token: uuid.UUID | None = None,
) -> None:
    """Record the options and findings with each of the jobs. `token`: for findings that are the same if repeated."""
    token = token or uuid.uuid4()
    every = sorted((job for site in sites for job in site.jobs), key=lambda job: job.place)
    recorded = options | {"jobs": [str(job.handle.id) for job in every]}
    found = {name: value for name, value in figures.items() if recorded.get(name) != value}
    for site in sites:
        REVIEW.put_review(
            site.conn,
            jobs=site.ids,
            kind=kind.value,
            token=token,
            options=json.dumps(recorded),
            figures=json.dumps(figures),
        )
        for job in site.ids:
            note_action(site.conn, job, kind.value, **recorded, found=found)
