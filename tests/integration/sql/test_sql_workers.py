"""The registry of workers."""

from __future__ import annotations

import uuid

from sql import workers
from sql.session import Database


def _register(database: Database, slots: int) -> uuid.UUID:
    incarnation = uuid.uuid4()
    with database.transaction() as conn:
        workers.register(
            conn, incarnation=incarnation, name="w1", host="h", pid=1, boot_id="b", slots=slots, version="0"
        )
    return incarnation


def test_live_slots_are_those_of_workers_seen_lately(database: Database) -> None:
    """Promise: the window follows the workers that live: the silent and the departed do not count."""
    silent, departed, well = (_register(database, n) for n in (1, 2, 4))
    with database.transaction() as conn:
        assert workers.live_slots(conn) == 7
        workers.stopped(conn, departed)
        assert workers.live_slots(conn) == 5
        conn.exec_driver_sql("UPDATE worker SET seen_at = now() - interval '11 seconds'")
        assert workers.live_slots(conn) == 0
        workers.seen(conn, well, 1.5, 0.25)
        assert workers.live_slots(conn) == 4
        rows = {row.incarnation: row for row in workers.list_workers(conn)}
    assert rows[well].live
    assert (rows[well].cpu_seconds, rows[well].run_queue_seconds) == (1.5, 0.25)
    assert not rows[silent].live
    assert rows[departed].stopped_at is not None
