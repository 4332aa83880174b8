"""The task protocol of design §3, one function a step. Every function works in the caller's transaction.

Only the queue manager calls `dispatch`, `advance`, `settle` and `return_expired`; slots and their supervisor call
the rest.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from core.errors import ExceptionCode, TaskLost
from core.records import ClaimedTask, Phase, TaskResult
from sql import bulk, replay
from sql.queries import QUERIES
from sql.states import suspend

CHANNEL = "edbench_tasks"  # NOTIFY: there is something to dispatch where there was nothing
FAILURES_LIMIT = 5
_READING = (Phase.INDEX, Phase.OCR)  # they count the texts they give; the phases before, the items they find


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """How many tasks went back to pending because nobody claimed them in time, or their lease ran out."""

    dispatched: int
    running: int


def claim(conn: Connection, task: int, worker: str, slot: int) -> ClaimedTask | None:
    """Take a dispatched task under a lease; None when the message is stale or doubled or its job does not run."""
    row = QUERIES["claim"].run(conn, task=task, worker=worker, slot=slot).one_or_none()
    if row is None:
        return None
    return ClaimedTask(id=row.id, job=row.job, phase=Phase(row.phase), attempt=row.attempt, payload=row.payload)


def finish(conn: Connection, claimed: ClaimedTask, result: TaskResult) -> None:
    """Write all that an attempt found, behind its fence; a job that is pausing or cancelling lets it finish.

    Raises TaskLost when another attempt took the task over: roll back and drop the work.
    """
    fenced = QUERIES["fence"].run(
        conn,
        task=claimed.id,
        attempt=claimed.attempt,
        raw_bytes=result.raw_bytes,
        extracted_bytes=result.extracted_bytes,
        index_bytes=result.index_bytes,
        items=len(result.texts) if claimed.phase in _READING else len(result.items),
    )
    if fenced.rowcount != 1:
        raise TaskLost(f"task {claimed.id}: attempt {claimed.attempt} is not the one that has it; its work is dropped")
    bulk.insert_items(conn, claimed.job, result.items)
    bulk.insert_exceptions(conn, claimed, result.exceptions)
    bulk.add_containers(conn, claimed.job, result.containers)
    bulk.put_texts(conn, claimed.job, result.texts)
    bulk.put_owners(conn, claimed, result.owners)
    if result.shard is not None:
        bulk.put_shard(conn, claimed.job, result.shard)
    if result.replay_client is not None:
        replay.put_result(conn, claimed.job, *result.replay_client)
    if result.follow_on:
        was_empty = not QUERIES["has_pending"].run(conn, job=claimed.job).scalar_one()
        bulk.insert_tasks(conn, claimed.job, result.follow_on)
        if was_empty:
            QUERIES["notify"].run(conn)


def release(conn: Connection, task: int, attempt: int, *, failed: bool) -> bool:
    """Give a running task back to pending (failed=True counts against it); False when it is not ours any more."""
    row = QUERIES["release"].run(conn, task=task, attempt=attempt, failed=int(failed)).one_or_none()
    if row is None:
        return False
    QUERIES["notify"].run(conn)
    return True


def fail(conn: Connection, task: int, attempt: int, reason: str, limit: int = FAILURES_LIMIT) -> bool:
    """Give a task back after an unforeseen error; at the `limit`-th its job is suspended with that reason.

    False when the task is not ours any more (nothing was changed).
    """
    row = QUERIES["release"].run(conn, task=task, attempt=attempt, failed=1).one_or_none()
    if row is None:
        return False
    if row.failures >= limit:
        suspend(conn, row.job, f"task {task} failed {row.failures} times, last with: {reason}")
    else:
        QUERIES["notify"].run(conn)
    return True


def renew(conn: Connection, pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Lengthen the leases of (task, attempt) pairs; returns those that are still ours."""
    if not pairs:
        return set()
    rows = QUERIES["renew"].run(conn, tasks=[t for t, _ in pairs], attempts=[a for _, a in pairs])
    return {(row.id, row.attempt) for row in rows}


def record_death(
    conn: Connection,
    job: uuid.UUID,
    task: int,
    attempt: int,
    item: uuid.UUID,
    cause: ExceptionCode,
    detail: str,
    worker: str,
) -> None:
    """Note that a slot died while this attempt read `item`; reporting it again changes nothing."""
    QUERIES["record_death"].run(
        conn,
        job=job,
        task=task,
        attempt=attempt,
        item=item,
        cause=cause.value,
        detail=bulk.storable(detail),
        worker=worker,
    )


def convicted(conn: Connection, job: uuid.UUID) -> dict[uuid.UUID, tuple[ExceptionCode, str]]:
    """Items that were being read at two deaths or more: to be skipped, with the latest cause and detail."""
    rows = QUERIES["convicted"].run(conn, job=job)
    return {row.item: (ExceptionCode(row.cause), row.detail) for row in rows}


def untouchable(conn: Connection, job: uuid.UUID) -> set[uuid.UUID]:
    """Convicted items that killed once more, while they were merely copied or identified: not even to be read."""
    return set(QUERIES["untouchable"].run(conn, job=job).scalars())


def dispatch(conn: Connection, job: uuid.UUID, limit: int) -> list[int]:
    """Mark up to `limit` pending tasks of the job's phase dispatched; their ids, largest first.

    Send the messages only after the commit: a slot that is faster than that finds nothing to claim.
    """
    rows = QUERIES["dispatch"].run(conn, job=job, limit=limit).all()
    return [row.id for row in sorted(rows, key=lambda row: (-row.weight, row.id))]


def undispatch(conn: Connection, tasks: Iterable[int]) -> int:
    """Tasks whose message could not be sent are pending again; how many were still dispatched."""
    return QUERIES["undispatch"].run(conn, tasks=list(tasks)).rowcount


def undispatch_all(conn: Connection, keep: Sequence[int] = ()) -> int:
    """All dispatched tasks of this database but `keep` are pending again: their messages are, or may be, lost."""
    return QUERIES["undispatch_all"].run(conn, keep=list(keep)).rowcount


def return_expired(conn: Connection) -> Returned:
    """Dispatched tasks past their deadline and running ones past their lease are pending again, at no charge."""
    row = QUERIES["return_expired"].run(conn).one()
    return Returned(dispatched=row.dispatched, running=row.running)
