"""Counters of workers that run elsewhere, read from what they wrote into the ledger."""

from __future__ import annotations

import time
import uuid

from experiments.workloads.discovery.ledger_meter import LedgerMeter
from sql import workers
from sql.session import Database


def _worker(database: Database, name: str) -> uuid.UUID:
    incarnation = uuid.uuid4()
    with database.transaction() as conn:
        workers.register(
            conn, incarnation=incarnation, name=name, host=name, pid=1, boot_id="b", slots=1, version="1"
        )  # fmt: skip
    return incarnation


def _seen(database: Database, incarnation: uuid.UUID, cpu: float, waited: float) -> None:
    with database.transaction() as conn:
        workers.seen(conn, incarnation, cpu, waited)


def test_counters_are_dated_when_they_were_reported(database: Database) -> None:
    """Sums over workers, with the time of the reports and not of the look; without a new report nothing moves."""
    meter = LedgerMeter(database, same_host=False)
    first, second = _worker(database, "w1"), _worker(database, "w2")
    before = time.time()
    _seen(database, first, 1.0, 0.25)
    _seen(database, second, 2.0, 0.5)
    at, cpu, waited = meter.workers()
    assert (cpu, waited) == (3.0, 0.75)
    assert before - 0.5 < at < time.time() + 0.5
    assert meter.workers() == (at, cpu, waited)
    _seen(database, first, 4.0, 0.25)
    later = meter.workers()
    assert later[0] > at
    assert later[1:] == (6.0, 0.75)
    with database.transaction() as conn:  # a worker that left keeps what it used
        workers.stopped(conn, second)
    assert meter.workers()[1:] == (6.0, 0.75)
    assert meter.host() is None
    meter.close()
