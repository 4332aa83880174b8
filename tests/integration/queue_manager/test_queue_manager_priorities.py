"""Jobs of several types and priorities in one ledger, as the dispatcher hands their tasks out."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from core.job_types import JobType
from core.records import JobOptions, JobState, Priority
from production.options import ProductionChoice
from queue_manager.dispatcher import Dispatcher, Sender
from sql import jobs, ledger
from sql.findings import TaskResult
from sql.session import Database

_TASKS = 100
_PRIORITIES = {  # the least first: who is older has no precedence
    JobType.DISCOVERY: Priority.LOW,
    JobType.EXTRACTION: Priority.NORMAL,
    JobType.PROCESSING: Priority.NORMAL,
    JobType.EXPORT: Priority.HIGH,
}


def test_tasks_of_a_high_job_are_handed_out_before_those_of_a_low_one(
    database: Database,
    broker_url: str,
    mailbox: Any,
    create_job: Callable[..., uuid.UUID],
    add_slots: Callable[[int], uuid.UUID],
) -> None:
    """Though that one is older; the low one is not starved, and all of them end. Each message is done before the next look,
    so what is out is what the look before sent."""
    add_slots(10)  # a window of 20 at least
    made = {
        create_job(_TASKS, JobOptions(priority=priority, of_type=_choice(kind))): kind
        for kind, priority in _PRIORITIES.items()
    }
    with database.transaction() as conn:  # the first phase of each type
        conn.exec_driver_sql("UPDATE task SET phase = j.phase FROM job j WHERE j.id = task.job")
    order: list[JobType] = []
    sender = Sender(broker_url, "db1")
    with database.listen() as held:
        dispatcher = Dispatcher(held, sender, "db1")
        while _running(database, made):
            dispatcher.count_slots()
            dispatcher.look()
            for message in mailbox.take():
                order.append(made[message[0]])
                _work(database, message)
    sender.close()
    handed = Counter(order[:20])
    last = {kind: len(order) - 1 - order[::-1].index(kind) for kind in _PRIORITIES}
    behind = Counter(order[: last[JobType.EXPORT] + 1])
    for normal in (JobType.EXTRACTION, JobType.PROCESSING):
        assert handed[JobType.EXPORT] > 2 * handed[normal] > 2 * handed[JobType.DISCOVERY] > 0
        assert last[JobType.EXPORT] < last[normal] < last[JobType.DISCOVERY]
        assert behind[JobType.DISCOVERY] < behind[normal] < behind[JobType.EXPORT]


def _choice(kind: JobType) -> ProductionChoice:
    return None if kind is JobType.DISCOVERY else ProductionChoice(type=kind, out=f"/{kind}")


def _running(database: Database, made: dict[uuid.UUID, JobType]) -> bool:
    with database.transaction() as conn:
        states = [jobs.get_job(conn, job).state for job in made]
    assert set(states) <= {JobState.RUNNING, JobState.COMPLETED}
    return JobState.RUNNING in states


def _work(database: Database, message: tuple[uuid.UUID, uuid.UUID]) -> None:
    """As a slot would."""
    with database.transaction() as conn:
        claimed = ledger.claim(conn, *message, uuid.uuid4(), "w", 0)
    assert claimed is not None
    with database.transaction() as conn:
        ledger.finish(conn, claimed, TaskResult())
