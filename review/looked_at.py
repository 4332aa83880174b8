"""The jobs that a finding is made of, with one transaction over all of their databases.

The databases' commits follow one another. Each writes the same token beside what was found (a random one, unless what was
found has one of its own, as duplicates have), the first database's last: where the tokens of jobs that were looked at together
differ, the finding was broken off between two commits.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from controller.custody.actions import note as note_action
from controller.databases import JobHandle, Jobs
from core.errors import UsageError
from core.options.production import JobType
from core.records import GroupKind
from review.kinds import ReviewKind
from sql.faces.review import REVIEW
from sql.session import Database

if TYPE_CHECKING:
    from sqlalchemy import Connection

_COMMANDS = {
    ReviewKind.DEDUPE: "edbench review dedupe {}",
    ReviewKind.DENIST: "edbench review denist {} --list FILE",
    ReviewKind.THREADS: "edbench review threads {}",
    ReviewKind.NEAR: "edbench review near-dup {}",
    ReviewKind.LANGUAGES: "edbench review languages {}",
}


@dataclass(frozen=True, slots=True)
class LookedAt:
    """One job. `place`: its number in the order given; `unit`: the same for jobs that are parts of one."""

    handle: JobHandle
    place: int
    unit: int


def looked_at(references: Sequence[Jobs]) -> list[LookedAt]:
    """The jobs of these ids, in the order given, a group's in that of its databases. Raises UsageError when one is named
    twice or has not completed."""
    out: list[LookedAt] = []
    for unit, reference in enumerate(references):
        parts = reference.group is not None and reference.group.kind is GroupKind.SHARDED
        for number, handle in enumerate(reference.each):
            if not handle.job.state.completed or handle.job.options.type is not JobType.DISCOVERY:
                raise UsageError(
                    f"job {handle.id} is {handle.job.state}; only completed discovery jobs can be reviewed"
                )
            if any(one.handle.id == handle.id for one in out):
                raise UsageError(f"job {handle.id} is named twice")
            out.append(LookedAt(handle, len(out), (unit << 20) + (0 if parts else number)))
    if not out:
        raise UsageError("the group has no jobs")
    return out


@dataclass(frozen=True, slots=True)
class Site:
    """A database with the jobs in it that are looked at, and its open transaction."""

    conn: Connection
    jobs: tuple[LookedAt, ...]

    @property
    def ids(self) -> list[uuid.UUID]:
        """The jobs' ids."""
        return [job.handle.id for job in self.jobs]


@contextmanager
def transactions(jobs: Sequence[LookedAt]) -> Iterator[list[Site]]:
    """A durable transaction on each database, that of the first name first; that one commits last. The jobs' rows are
    locked, so that they are not deleted or looked through by another command meanwhile. Raises UsageError when a job has gone,
    DatabaseFault."""
    by_name: dict[str, tuple[Database, list[LookedAt]]] = {}
    for job in jobs:
        by_name.setdefault(job.handle.database.name, (job.handle.database, []))[1].append(job)
    with ExitStack() as stack:
        sites = []
        for _, (database, own) in sorted(by_name.items()):
            site = Site(stack.enter_context(database.transaction(durable=True)), tuple(own))
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
    """What was found and of what, with each of the jobs. `token`: of what is found again when the same is looked for."""
    token = token or uuid.uuid4()
    every = sorted((job for site in sites for job in site.jobs), key=lambda job: job.place)
    told = options | {"jobs": [str(job.handle.id) for job in every]}
    found = {name: value for name, value in figures.items() if told.get(name) != value}
    for site in sites:
        REVIEW.put_review(
            site.conn,
            jobs=site.ids,
            kind=kind.value,
            token=token,
            options=json.dumps(told),
            figures=json.dumps(figures),
        )
        for job in site.ids:
            note_action(site.conn, job, kind.value, **told, found=found)


@dataclass(frozen=True, slots=True)
class Found:
    """The latest finding of one kind in some jobs."""

    options: dict[str, Any]
    figures: dict[str, Any]
    created_at: float
    token: uuid.UUID


def latest(handles: Sequence[JobHandle], kind: ReviewKind, databases: Sequence[Database]) -> Found:
    """What was found in these jobs. Raises UsageError, which names the command, where nothing was looked for, one of the
    jobs was processed again since or looked through with others, or the finding was broken off; DatabaseFault."""
    if not handles:
        raise UsageError("the group has no jobs")
    again = f"run `{_COMMANDS[kind].format(' '.join(str(handle.id) for handle in handles))}`"
    rows = []
    for handle in handles:
        with handle.database.transaction() as conn:
            row = REVIEW.get_review(conn, job=handle.id, kind=kind.value)
        if row is None:
            raise UsageError(f"job {handle.id} has no {kind.value} findings yet; {again}")
        if row.stale:
            raise UsageError(f"job {handle.id} was processed again after its {kind.value} findings; {again} again")
        rows.append(row)
    first = rows[0]
    tokens = {row.token for row in rows} | _others(first.options["jobs"], handles, kind, databases)
    if tokens != {first.token}:
        raise UsageError(_apart(handles, kind, again))
    return Found(dict(first.options), dict(first.figures), first.created_at, first.token)


def _apart(handles: Sequence[JobHandle], kind: ReviewKind, again: str) -> str:
    """Why several jobs have no finding of one kind in common, or one has none any more, and what to do."""
    if len(handles) == 1:
        return f"the {kind.value} findings of job {handles[0].id} include jobs that changed since; {again} again"
    said = f"these {len(handles)} jobs have no {kind.value} findings in common, or include jobs that changed since; {again} for all of them together"
    if kind is ReviewKind.DEDUPE:
        said += "; add --scope jobs to find duplicates across jobs"
    return said


def check_findings(
    handles: Sequence[JobHandle],
    databases: Sequence[Database],
    *,
    duplicates: bool = False,
    near: bool = False,
    system: bool = False,
) -> None:
    """Whether items of these jobs can be told by what was found of (near-)duplicates, or system files; raises as `latest`."""
    asked = {ReviewKind.DEDUPE: duplicates, ReviewKind.NEAR: near}
    for kind in (kind for kind, wanted in asked.items() if wanted):
        latest(handles, kind, databases)
    for handle in handles if system else ():  # flags of one job say nothing of another
        latest([handle], ReviewKind.DENIST, databases)


def _others(
    jobs: Sequence[str], known: Sequence[JobHandle], kind: ReviewKind, databases: Sequence[Database]
) -> set[uuid.UUID | None]:
    """Tokens of the jobs that were looked at too; None for one that is gone, or was processed again since."""
    missing = {uuid.UUID(job) for job in jobs} - {handle.id for handle in known}
    tokens: dict[uuid.UUID, uuid.UUID | None] = dict.fromkeys(missing)
    for database in databases if missing else ():
        with database.transaction() as conn:
            for job in missing:
                row = REVIEW.get_review(conn, job=job, kind=kind.value)
                if row is not None:
                    tokens[job] = None if row.stale else row.token
    return set(tokens.values())
