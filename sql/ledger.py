"""The task protocol of design §3, one function a step. Every function works in the caller's transaction.

A claim's results may be written in portions, so that neither the slot nor one transaction has to hold all of them
(decision 0042). A portion begins with a fence of its own, as a finish does. The task's row counts the portions of all
its claims; a claim knows the expected count, and the fence requires exactly that: a portion that a crash of the server
undoes ends the rest of the claim. Portions of a claim that did not finish are removed before the next claim writes
anything."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from core.errors import TaskLost
from core.records import ClaimedTask, Phase, TaskState
from readers.errors import ExceptionCode
from sql import bulk
from sql.connection import Connection
from sql.findings import TaskResult
from sql.interface import QUERIES, implemented
from sql.states import suspend


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """A slot that died while it worked on a loose file; one row of table `death`."""

    task: uuid.UUID
    item: uuid.UUID | None  # that it was reading; None: other items had filled the memory
    parent: uuid.UUID | None = None  # the item around it, where the slot reported it …
    loose: uuid.UUID | None = None  # … and the loose file
    seconds: float = 0.0  # spent by the claim on the loose file, or the item
    taken: int = 0  # items that the claim had taken out of the loose file
    cause: ExceptionCode  # killed_parser, timeout or memory
    detail: str


@dataclass(frozen=True, slots=True)
class Around:
    """An item's ancestor, or the item itself."""

    id: uuid.UUID
    size: int  # bytes


def spent(
    conn: Connection, job: uuid.UUID, phase: Phase, loose: Iterable[uuid.UUID], at_least: float
) -> dict[uuid.UUID, float]:
    """Seconds that finished tasks spent on these loose files, and on any that took `at_least` so many."""
    rows = QUERIES["loose_seconds"].run(conn, job=job, phase=phase.value, loose=list(loose), at_least=at_least)
    return {row.loose: row.seconds for row in rows}


def add_spent(conn: Connection, job: uuid.UUID, phase: Phase, seconds: Mapping[uuid.UUID, float]) -> None:
    """Add to the costs of loose files."""
    if seconds:
        rows = [{"loose": loose.hex, "seconds": amount} for loose, amount in seconds.items()]
        QUERIES["add_loose_seconds"].run(conn, job=job, phase=phase.value, rows=json.dumps(rows))


def ancestors(conn: Connection, items: Iterable[uuid.UUID]) -> dict[uuid.UUID, list[Around]]:
    """Each of these items with all its ancestors, from itself to its loose file."""
    chains: dict[uuid.UUID, list[Around]] = {}
    for row in QUERIES["ancestors"].run(conn, items=list(items)):
        chains.setdefault(row.item, []).append(Around(row.id, row.bytes))
    return chains


CHANNEL = "edbench_tasks"  # NOTIFY: there is something to dispatch where there was nothing
FAILURES_LIMIT = 5
_READING = (Phase.INDEX, Phase.OCR)  # these phases count texts, the phases before count items


class Returned(NamedTuple):
    """Number of tasks that are pending again because no slot claimed them in time, or their lease ran out."""

    dispatched: int
    running: int


class _Ledger(Protocol):
    def cost_anything(self, conn: Connection, *, job: uuid.UUID, phase: str) -> bool: ...
    def deaths(self, conn: Connection, *, job: uuid.UUID, phase: str) -> list[Death]: ...
    def note_parsers(self, conn: Connection, *, id: uuid.UUID, contents: str) -> None: ...
    def resumed_since_claim(self, conn: Connection, *, task: uuid.UUID, token: uuid.UUID) -> bool: ...
    def undispatch(self, conn: Connection, *, tasks: Sequence[uuid.UUID]) -> int: ...
    def undispatch_all(self, conn: Connection, *, keep: Sequence[uuid.UUID]) -> int: ...
    def return_expired(self, conn: Connection) -> Returned: ...


LEDGER: _Ledger = implemented(_Ledger)


def claim(
    conn: Connection,
    job: uuid.UUID,
    task: uuid.UUID,
    token: uuid.UUID,
    worker: str,
    slot: int,
    parsers: uuid.UUID | None = None,
) -> ClaimedTask | None:
    """Take a dispatched task of the job under a lease; return None if the message is stale or repeated or the job does
    not run.

    `token`: random, of this claim alone. A second call with it, after a lost connection, returns the claimed task.
    `parsers`: the slot's parser set, which was stored before; None for a task that parses nothing."""
    asked = QUERIES["claim"].run(conn, job=job, task=task, token=token, worker=worker, slot=slot, parsers=parsers)
    row = asked.one_or_none()
    if row is None:
        return None
    return ClaimedTask(
        id=row.id,
        job=row.job,
        phase=Phase(row.phase),
        token=token,
        attempt=row.attempt,
        payload=row.payload,
        portions=row.portions,
    )


def finish(conn: Connection, claimed: ClaimedTask, result: TaskResult) -> None:
    """End the task and write all results, after its fence; a job that is pausing or cancelling allows it.

    Raises TaskLost if the task no longer belongs to this claim: roll back and drop the work."""
    _end(conn, claimed, result)
    _write(conn, claimed, result)


def _end(conn: Connection, claimed: ClaimedTask, result: TaskResult) -> None:
    """The fence: lock the row and set the task done until the commit. Raises TaskLost."""
    fenced = QUERIES["fence"].run(
        conn,
        task=claimed.id,
        token=claimed.token,
        raw_bytes=result.raw_bytes,
        extracted_bytes=result.extracted_bytes,
        index_bytes=result.index_bytes,
        items=result.written + (len(result.texts) if claimed.phase in _READING else len(result.items)),
        portions=claimed.portions if result.portions is None else result.portions,
    )
    if fenced.rowcount != 1:
        raise TaskLost(f"task {claimed.id}: claim {claimed.token} no longer holds it; its work is discarded")


def _write(conn: Connection, claimed: ClaimedTask, result: TaskResult) -> None:
    """Write all results; call it only after the fence."""
    _write_rows(conn, claimed, result)
    add_spent(conn, claimed.job, claimed.phase, result.spent)
    if result.shard is not None:
        bulk.put_shard(conn, claimed.job, result.shard)
    if result.own is not None:
        result.own.write(conn, claimed)
    if result.follow_on or result.portions is not None:
        was_empty = not QUERIES["has_pending"].run(conn, job=claimed.job, phases=list(Phase)).scalar_one()
        if result.portions is not None:
            key = {"job": claimed.job, "phase": claimed.phase.value, "task": claimed.id, "token": claimed.token}
            QUERIES["let_go"].run(conn, **key)
        bulk.insert_tasks(conn, claimed.job, result.follow_on, origin=claimed)
        if was_empty:
            QUERIES["notify"].run(conn)


def _write_rows(conn: Connection, claimed: ClaimedTask, result: TaskResult) -> None:
    bulk.insert_items(conn, claimed.job, result.items)
    bulk.insert_exceptions(conn, claimed, result.exceptions)
    bulk.add_containers(conn, claimed.job, result.containers)
    bulk.put_texts(conn, claimed.job, result.texts)
    bulk.put_owners(conn, claimed, result.owners)


def release(conn: Connection, task: uuid.UUID, token: uuid.UUID, *, failed: bool) -> bool:
    """Make a running task pending again (failed=True counts against it); return False if it is no longer ours."""
    row = QUERIES["release"].run(conn, task=task, token=token, failed=int(failed)).one_or_none()
    if row is None:
        return False
    QUERIES["notify"].run(conn)
    return True


def fail(conn: Connection, task: uuid.UUID, token: uuid.UUID, reason: str) -> bool:
    """Make a task pending again after an unforeseen error; at the FAILURES_LIMIT-th its job is suspended with that reason.

    Returns False if the task is no longer ours (nothing was changed)."""
    row = QUERIES["release"].run(conn, task=task, token=token, failed=1).one_or_none()
    if row is None:
        return False
    if row.failures >= FAILURES_LIMIT:
        suspend(conn, row.job, f"task {task} failed {row.failures} times, last with: {reason}")
    else:
        QUERIES["notify"].run(conn)
    return True


def renew(conn: Connection, pairs: Sequence[tuple[uuid.UUID, uuid.UUID]]) -> set[tuple[uuid.UUID, uuid.UUID]]:
    """Extend the leases of (task, token) pairs; return those that are still ours."""
    if not pairs:
        return set()
    rows = QUERIES["renew"].run(conn, tasks=[task for task, _ in pairs], tokens=[token for _, token in pairs])
    return {(row.id, row.token) for row in rows}


def record_death(
    conn: Connection,
    job: uuid.UUID,
    phase: Phase,
    token: uuid.UUID,
    death: Death,
    worker: str,
) -> None:
    """Record that a slot died in this claim; a repeated call changes nothing."""
    QUERIES["record_death"].run(
        conn,
        job=job,
        phase=phase.value,
        token=token,
        **dataclasses.asdict(death) | {"cause": death.cause.value, "detail": bulk.storable(death.detail)},
        worker=worker,
    )


def convicted(conn: Connection, job: uuid.UUID) -> dict[uuid.UUID, tuple[ExceptionCode, str]]:
    """Items that were being read at two deaths or more, which are skipped, with the latest cause and detail."""
    rows = QUERIES["convicted"].run(conn, job=job)
    return {row.item: (ExceptionCode(row.cause), row.detail) for row in rows}


def untouchable(conn: Connection, job: uuid.UUID) -> set[uuid.UUID]:
    """Convicted items that killed again when they were only copied or identified; they are not read at all."""
    return set(QUERIES["untouchable"].run(conn, job=job).scalars())


def dispatch(conn: Connection, job: uuid.UUID, limit: int) -> list[uuid.UUID]:
    """Mark up to `limit` pending tasks of the job's phase dispatched; return their ids in the job's order of tasks.

    Send the messages only after the commit: a slot that is faster finds nothing to claim."""
    rows = QUERIES["dispatch"].run(conn, job=job, limit=limit).all()
    return [row.id for row in sorted(rows, key=lambda row: (-row.weight, row.id))]


def written_on(conn: Connection, tasks: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The host that must not do a task, for tasks that have one: it wrote or read the task's input."""
    return {row.id: row.host for row in QUERIES["written_on"].run(conn, tasks=list(tasks))}


TASKS_AT_ONCE = 20  # taken out by one transaction, with some 500 items each
ITEMS_AT_ONCE = 10_000


def write_portion(conn: Connection, claimed: ClaimedTask, number: int, task_result: TaskResult) -> None:
    """Write portion `number` (the first is `claimed.portions` + 1); tasks of the same phase are held until the finish.

    Raises TaskLost if the task no longer belongs to this claim, or the previous portion is missing."""
    _fence(conn, claimed, number)
    _write_rows(conn, claimed, task_result)
    for state in (TaskState.HELD, TaskState.PENDING):
        tasks = [t for t in task_result.follow_on if (t.phase is claimed.phase) == (state is TaskState.HELD)]
        bulk.insert_tasks(conn, claimed.job, tasks, claimed, state)


def portion_is_written(conn: Connection, claimed: ClaimedTask, number: int) -> bool:
    """Whether portion `number` is the last in the ledger, for a caller that never received the answer."""
    return bool(QUERIES["portions_of"].run(conn, task=claimed.id, token=claimed.token).scalar_one_or_none() == number)


def take_out(conn: Connection, claimed: ClaimedTask, number: int) -> bool:
    """Remove some of the rows that earlier claims of the task wrote in portions, as portion `number`; return whether
    there are more.

    Raises TaskLost as `write_portion`."""
    _fence(conn, claimed, number)
    key: dict[str, Any] = {"job": claimed.job, "task": claimed.id, "token": claimed.token}
    QUERIES["take_out_tasks"].run(conn, **key, limit=TASKS_AT_ONCE)
    indexed = QUERIES["take_out_indexed"].run(conn, **key, limit=ITEMS_AT_ONCE).rowcount
    if indexed == ITEMS_AT_ONCE or QUERIES["has_to_take_out"].run(conn, **key).scalar_one():
        return True
    QUERIES["take_out_exceptions"].run(conn, **key)
    QUERIES["forget_portions"].run(conn, task=claimed.id, token=claimed.token)
    return False


def _fence(conn: Connection, claimed: ClaimedTask, number: int) -> None:
    row = QUERIES["portion"].run(conn, task=claimed.id, token=claimed.token, before=number - 1)
    if row.rowcount != 1:
        raise TaskLost(
            f"task {claimed.id}: claim {claimed.token} no longer holds it or lost part of its work; the rest is "
            "discarded"
        )
