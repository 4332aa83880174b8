"""The protocol under real concurrency: many sessions at once, leases that lapse under their holders."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from core.errors import DatabaseFault, TaskLost
from core.records import ContainerCount, JobOptions, NewTask, Phase, TaskResult
from sql import bulk, jobs, ledger, states
from sql.session import Database

SLOTS = 6


class _Race:
    """Slots that dawdle, and a queue manager that returns their leases behind their backs."""

    def __init__(self, hands: Any) -> None:
        self.hands = hands
        self.job = hands.create(
            [NewTask(phase=Phase.WALK, weight=n, payload={}) for n in range(60)], JobOptions(lease_seconds=0.03)
        )
        self.box = hands.item(self.job, b"box", container=True)
        with hands.database.transaction() as conn:
            bulk.insert_items(conn, self.job, [self.box])
        self.over = threading.Event()
        self.sent: list[int] = []
        self.finished: list[int] = []
        self.lost = 0

    def slot(self, number: int) -> None:
        database = Database("db1", self.hands.database.url, pool_size=1)
        dice = random.Random(number)
        try:
            while not self.over.is_set():
                task = dice.choice(self.sent[-30:] or [0])  # messages come late, doubled and in any order
                with database.transaction() as conn:
                    claimed = ledger.claim(conn, task, f"w{number}", number)
                if claimed is None:
                    time.sleep(0.001)
                    continue
                time.sleep(dice.choice([0.0, 0.0, 0.0, 0.08]))
                follow_on = [NewTask(phase=Phase.EXPAND, weight=1, payload={})] if claimed.phase is Phase.WALK else []
                result = TaskResult(
                    items=(self.hands.item(self.job, b"%d" % claimed.id, self.box.id),),
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

    def manage(self) -> None:
        """The queue manager's part, with a pause now and then; deadlocks would show as DatabaseFault."""
        database = self.hands.database
        until = time.monotonic() + 60
        turn = 0
        try:
            while not self.over.is_set() and time.monotonic() < until:
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


def test_items_go_in_fast(hands: Any) -> None:
    """Promise: the database is not what limits the pipeline (aim 20,000 items a second on a free machine; a
    quarter is demanded here because tests share theirs)."""
    job = hands.create(1)
    items = [hands.item(job, b"#%d" % n, None) for n in range(10_000)]
    begun = time.monotonic()
    hands.finish(hands.take(job), TaskResult(items=tuple(items)))
    assert len(items) / (time.monotonic() - begun) > 5_000
    assert hands.value("SELECT count(*) FROM item") == 10_000
