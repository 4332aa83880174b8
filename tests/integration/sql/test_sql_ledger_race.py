"""The protocol under real concurrency: many sessions at once, leases that lapse under their holders."""

from __future__ import annotations

import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from installation import COMMAND_SECONDS, until
from statements import statements_of

from core.errors import DatabaseFault, TaskLost
from core.records import ClaimedTask, JobOptions, NewTask, Phase
from sql import bulk, jobs, ledger, states
from sql.findings import ContainerCount, TaskResult
from sql.session import Database

SLOTS = 6


class _Race:
    """Slots that dawdle, and a queue manager that returns their leases behind their backs."""

    def __init__(self, hands: Any) -> None:
        self.hands = hands
        self.job = hands.create(
            [NewTask(phase=Phase.WALK, weight=n, payload={}) for n in range(60)], JobOptions(lease_seconds=0.1)
        )
        self.box = hands.item(self.job, b"box", container=True)
        with hands.database.transaction() as conn:
            bulk.insert_items(conn, self.job, [self.box])
        self.over = threading.Event()
        self.dawdler = threading.Lock()  # whoever gets it works until its lease has lapsed
        self.sent: list[uuid.UUID] = []
        self.finished: list[uuid.UUID] = []
        self.lost = 0

    def slot(self, number: int) -> None:
        database = Database("db1", self.hands.database.url, pool_size=1)
        dice = random.Random(number)
        try:
            while not self.over.is_set():
                task = dice.choice(self.sent[-30:] or [uuid.uuid4()])  # messages come late, doubled and in any order
                with database.transaction() as conn:
                    claimed = ledger.claim(conn, self.job, task, uuid.uuid4(), f"w{number}", number)
                if claimed is None:
                    time.sleep(0.001)
                    continue
                if self.dawdler.acquire(blocking=False):
                    until(lambda claimed=claimed: self.lapsed(claimed) or self.over.is_set(), "its lease lapses")
                time.sleep(dice.choice([0.0, 0.0, 0.0, 0.2]))
                follow_on = [NewTask(phase=Phase.EXPAND, weight=1, payload={})] if claimed.phase is Phase.WALK else []
                result = TaskResult(
                    items=(self.hands.item(self.job, claimed.id.bytes, self.box.id),),
                    containers=(ContainerCount(item=self.box.id, announced=None, emitted=1, failed=0),),
                    follow_on=tuple(follow_on),
                )
                try:
                    with database.transaction() as conn:
                        ledger.finish(conn, claimed, result)
                    self.finished.append(claimed.id)
                except TaskLost:
                    self.lost += 1
        finally:
            self.over.set()
            database.dispose()

    def lapsed(self, claimed: ClaimedTask) -> bool:
        """Whether the task is not this claim's any more."""
        found = self.hands.rows("SELECT state, token FROM task WHERE id = %(id)s", id=claimed.id)[0]
        return (found.state, found.token) != ("running", claimed.token)

    def manage(self) -> None:
        """The queue manager's part, with a pause now and then; deadlocks would show as DatabaseFault."""
        database = self.hands.database
        last = time.monotonic() + COMMAND_SECONDS
        turn = 0
        try:
            while not self.over.is_set() and time.monotonic() < last:
                turn += 1
                with database.transaction() as conn:
                    ledger.return_expired(conn)
                    self.sent += ledger.dispatch(conn, self.job, 2 * SLOTS)
                with database.transaction(durable=True) as conn:
                    if turn % 40 == 20:
                        states.suspend(conn, self.job, "just so")
                    elif turn % 40 == 25:
                        states.request_resume(conn, self.job)
                    states.advance(conn, self.job)
                    if jobs.get_job(conn, self.job).state.over:
                        return
                time.sleep(0.002)
        finally:
            self.over.set()


def test_nothing_is_lost_or_doubled_between_many_sessions(hands: Any) -> None:
    """Promise: with six slots, leases shorter than the work and pauses in between, every task takes effect once
    and no session runs into a deadlock."""
    race = _Race(hands)
    with ThreadPoolExecutor(SLOTS + 1) as threads:
        ends = [threads.submit(race.slot, n) for n in range(SLOTS)]
        ends.append(threads.submit(race.manage))
        faults = [end.exception() for end in ends]
    assert not any(isinstance(fault, DatabaseFault) for fault in faults), faults
    assert faults == [None] * len(faults)
    assert hands.value("SELECT state FROM job") == "completed"
    done = hands.value("SELECT count(*) FROM task WHERE state = 'done'")
    assert done == hands.value("SELECT count(*) FROM task") == 60 + 60 + 1
    assert len(race.finished) == len(set(race.finished)) == done
    assert hands.value("SELECT emitted FROM container_count") == done
    assert hands.value("SELECT count(*) FROM item WHERE parent IS NOT NULL") == done
    assert race.lost > 0, "no lease lapsed under its holder: the race did not happen"


def test_items_go_in_by_the_thousand(hands: Any) -> None:
    """Promise: the database is not what limits the pipeline (`make bench` has items a second): the number of
    statements does not grow with that of items, but for what bounds the memory of one."""
    job = hands.create(1)
    items = [hands.item(job, b"#%d" % n, None) for n in range(10_000)]
    claimed = hands.take(job)
    with statements_of(hands.database) as asked:
        hands.finish(claimed, TaskResult(items=tuple(items)))
    assert len(asked) < 20, asked
    assert hands.value("SELECT count(*) FROM item") == 10_000
