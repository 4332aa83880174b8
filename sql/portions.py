"""A claim's findings in portions, so that neither the slot nor one transaction has to hold all of them (decision 0042).

A portion begins with a fence of its own, as a finish does. The task's row counts the portions of all its claims; a
claim knows how many there must be, and the fence requires exactly that: a portion that a crash of the server undoes
ends the rest of the claim. What a claim wrote and did not finish is taken out before the next one writes anything.
Every function works in the caller's transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import TaskLost
from core.records import ClaimedTask, TaskState
from sql import bulk
from sql.face import QUERIES
from sql.findings import TaskResult

if TYPE_CHECKING:
    from sqlalchemy import Connection

TASKS_AT_ONCE = 20  # taken out by one transaction, with some 500 items each
ITEMS_AT_ONCE = 10_000


def write(conn: Connection, claimed: ClaimedTask, number: int, task_result: TaskResult) -> None:
    """Write portion `number` (the first is `claimed.portions` + 1); tasks of the same phase are held until the finish.

    Raises TaskLost when the task is not this claim's any more, or the portion before is not there.
    """
    _fence(conn, claimed, number)
    bulk.insert_items(conn, claimed.job, task_result.items)
    bulk.insert_exceptions(conn, claimed, task_result.exceptions)
    bulk.add_containers(conn, claimed.job, task_result.containers)
    bulk.put_texts(conn, claimed.job, task_result.texts)
    bulk.put_owners(conn, claimed, task_result.owners)
    for state in (TaskState.HELD, TaskState.PENDING):
        tasks = [t for t in task_result.follow_on if (t.phase is claimed.phase) == (state is TaskState.HELD)]
        bulk.insert_tasks(conn, claimed.job, tasks, claimed, state)


def is_written(conn: Connection, claimed: ClaimedTask, number: int) -> bool:
    """Whether portion `number` is the last that the ledger has, for who never got the answer."""
    return bool(QUERIES["portions_of"].run(conn, task=claimed.id, token=claimed.token).scalar() == number)


def take_out(conn: Connection, claimed: ClaimedTask, number: int) -> bool:
    """Remove some of what earlier claims of the task wrote in portions, as portion `number`; whether there is more.

    Raises TaskLost as `write` does.
    """
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
            f"task {claimed.id}: claim {claimed.token} does not hold it or lost a part of its work; the rest is dropped"
        )
