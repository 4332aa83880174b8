"""Findings of reviews for jobs and items: duplicates, near-duplicates, system files, languages, threads.

Package `review` computes them. This module has what other packages read: which findings are valid, and those of one
item."""

from __future__ import annotations

import enum
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from controller.databases import JobHandle
from core.errors import UsageError
from sql.connection import Connection
from sql.review import REVIEW, Equal, Message, Near, ReviewRow
from sql.session import Database

Row = TypeVar("Row")
MOST = 500  # listed members of a group or a thread


class ReviewKind(enum.StrEnum):
    """Kinds of findings; a job has the latest of each."""

    DEDUPE = "dedupe"
    DENIST = "denist"
    THREADS = "threads"
    NEAR = "near"
    LANGUAGES = "languages"


# What each kind finds, and the command that searches for it.
_SEARCHES = {
    ReviewKind.DEDUPE: ("duplicates", "edbench review dedupe {}"),
    ReviewKind.DENIST: ("system files", "edbench review denist {} --list FILE"),
    ReviewKind.THREADS: ("threads", "edbench review threads {}"),
    ReviewKind.NEAR: ("near-duplicates", "edbench review near-dup {}"),
    ReviewKind.LANGUAGES: ("languages", "edbench review languages {}"),
}


def latest(handles: Sequence[JobHandle], kind: ReviewKind, databases: Sequence[Database]) -> ReviewRow:
    """Return the findings of these jobs, as one of them has them. Raises UsageError, which names the command to run, if the jobs were not
    searched, one of them was processed again or reviewed with other jobs since, or the search was interrupted;
    DatabaseFault."""
    if not handles:
        raise UsageError("the group has no jobs")
    sought, command = _SEARCHES[kind]
    again = f"run `{command.format(' '.join(str(handle.id) for handle in handles))}`"
    rows = []
    for handle in handles:
        row = handle.database.ask(REVIEW.get_review, job=handle.id, kind=kind.value)
        if row is None:
            raise UsageError(f"job {handle.id} was not searched for {sought} yet; {again}")
        if row.stale:
            raise UsageError(f"job {handle.id} was processed again after the search for {sought}; {again} again")
        rows.append(row)
    first = rows[0]
    tokens = {row.token for row in rows} | _others(first.options["jobs"], handles, kind, databases)
    if tokens != {first.token}:
        raise UsageError(_apart(handles, kind, again))
    return first


def _apart(handles: Sequence[JobHandle], kind: ReviewKind, again: str) -> str:
    """Explain why several jobs have no finding of one kind in common, or one has none any more, and what to do."""
    if len(handles) == 1:
        return f"the {kind.value} findings of job {handles[0].id} include jobs that changed since; {again} again"
    text = f"these {len(handles)} jobs have no {kind.value} findings in common, or include jobs that changed since; {again} for all of them together"
    if kind is ReviewKind.DEDUPE:
        text += "; add --scope jobs to find duplicates across jobs"
    return text


def check_findings(
    handles: Sequence[JobHandle],
    databases: Sequence[Database],
    *,
    duplicates: bool = False,
    near: bool = False,
    system: bool = False,
) -> None:
    """Check that these jobs have the findings to select items by: (near-)duplicates, or system files. Raises as
    `latest`."""
    asked = {ReviewKind.DEDUPE: duplicates, ReviewKind.NEAR: near}
    for kind in (kind for kind, wanted in asked.items() if wanted):
        latest(handles, kind, databases)
    for handle in handles if system else ():  # the flags of a job are its own
        latest([handle], ReviewKind.DENIST, databases)


def _others(
    jobs: Sequence[str], known: Sequence[JobHandle], kind: ReviewKind, databases: Sequence[Database]
) -> set[uuid.UUID | None]:
    """Return the tokens of the other jobs of the same review; None for a job that is gone, or was processed again
    since."""
    missing = {uuid.UUID(job) for job in jobs} - {handle.id for handle in known}
    tokens: dict[uuid.UUID, uuid.UUID | None] = dict.fromkeys(missing)
    for database in databases if missing else ():
        with database.transaction() as conn:
            for job in missing:
                row = REVIEW.get_review(conn, job=job, kind=kind.value)
                if row is not None:
                    tokens[job] = None if row.stale else row.token
    return set(tokens.values())


def equals_of(handle: JobHandle, item: uuid.UUID, databases: Sequence[Database]) -> list[Equal]:
    """Return the item and its duplicates, the original first, at most MOST; empty if it has none. If families were
    compared, the topmost items of the families equal to the item's. Raises as `latest`."""
    found = latest([handle], ReviewKind.DEDUPE, databases).options
    jobs, families = _jobs(found), found["by"] == "family"
    original = next(iter(handle.database.ask(REVIEW.original_of, job=handle.id, item=item)), None)
    if original is None:
        return []
    rows = _everywhere(
        databases, lambda conn: REVIEW.equals_of(conn, jobs=jobs, original=original, families=families, limit=MOST)
    )
    return sorted(rows, key=lambda row: row.copy_of is not None)[:MOST]


def near_of(handle: JobHandle, item: uuid.UUID, databases: Sequence[Database]) -> list[Near]:
    """Return the item and its near-duplicates, the principal first, then by similarity, at most MOST; empty if it has
    none. Raises as `latest`."""
    jobs = _jobs(latest([handle], ReviewKind.NEAR, databases).options)
    principal = next(iter(handle.database.ask(REVIEW.principal_of, job=handle.id, item=item)), None)
    if principal is None:
        return []
    rows = _everywhere(databases, lambda conn: REVIEW.near_of(conn, jobs=jobs, principal=principal, limit=MOST))
    return sorted(rows, key=lambda row: (row.near_to is not None, -row.similarity))[:MOST]


def thread_of(handle: JobHandle, item: uuid.UUID, databases: Sequence[Database]) -> list[Message]:
    """Return the thread of a message, each message below the one that it answers, siblings by date; the first MOST by
    date. Empty if the item is not a message. Raises as `latest`."""
    jobs = _jobs(latest([handle], ReviewKind.THREADS, databases).options)
    thread = next(iter(handle.database.ask(REVIEW.thread_with, job=handle.id, item=item)), None)
    if thread is None:
        return []
    rows = _everywhere(databases, lambda conn: REVIEW.thread_of(conn, jobs=jobs, thread=thread, limit=MOST))
    rows.sort(key=lambda row: (row.sent_at is None, row.sent_at, row.depth))
    return below_parents(rows[:MOST], lambda row: row.item, lambda row: row.parent)


def _everywhere(databases: Sequence[Database], ask: Callable[[Connection], Iterable[Row]]) -> list[Row]:
    """Query all databases and return all rows; jobs that were reviewed together may be in several."""
    rows: list[Row] = []
    for database in databases:
        rows += database.ask(ask)
    return rows


def _jobs(options: Mapping[str, Any]) -> list[uuid.UUID]:
    """Return the jobs that were reviewed together."""
    return [uuid.UUID(job) for job in options["jobs"]]


def below_parents(
    rows: Sequence[Row], own: Callable[[Row], Hashable], parent: Callable[[Row], Hashable | None]
) -> list[Row]:
    """Return the rows, each after its parent and all rows below its earlier siblings. Siblings keep the given order,
    and so do rows without a parent or whose parent is not among them. `own` and `parent` return a row's id and its
    parent's."""
    there = set(map(own, rows))
    below: defaultdict[Hashable | None, list[Row]] = defaultdict(list)
    for row in rows:
        below[above if (above := parent(row)) in there else None].append(row)
    out: list[Row] = []
    left = below[None][::-1]
    while left:
        out.append(left.pop())
        left += reversed(below.get(own(out[-1]), []))
    return out
