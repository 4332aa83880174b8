"""The queue manager alone: how many no-op tasks a second it marks and sends, with few and with a million pending.

It is the real process on a real ledger and broker. Slots that take no time stand in for workers: what is dispatched
is set done, and its messages are dropped, by one statement each, as fast as they come.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import psutil
import redis

from benchmarks.bare_job import bare_job
from benchmarks.processor_time import used
from core.celery_app import queue_name
from core.roles import QUEUE_MANAGER
from core.services import broker_keeper_url, embedded_services
from core.settings import Settings
from sql import workers
from sql.migrate import migrate
from sql.session import Database

SLOTS = 32  # of 8 workers
FEW, MANY = 10_000, 1_000_000
SECONDS = 8.0  # of each measurement
WARM_SECONDS = 1.0
_INSERT = """
INSERT INTO task (job, phase, weight, payload)
SELECT %(job)s, 'walk', 1 + n %% 1000, '{"custodian": 0, "directories": [], "files_only": true}'
FROM generate_series(1, %(tasks)s) n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatching:
    """What was measured."""

    few_rate: float  # tasks/s marked and sent with 10,000 pending
    many_rate: float  # and with a million
    memory_bytes: int  # most the queue manager's process had resident meanwhile
    task_cpu_s: float  # of queue manager, its database connections and the broker, with 10,000 pending


def measure(directory: Path, many: int = MANY) -> Dispatching:
    """Rates, memory and CPU of `python -m queue_manager`; with a million tasks it takes a minute, most of it to write them."""
    settings = Settings(storage=directory / "storage", scratch=directory / "scratch")
    with embedded_services(settings, slots=SLOTS) as running:
        database = Database("db1", running.databases[0].url)
        migrate(database)
        broker = redis.Redis.from_url(broker_keeper_url(running.scratch))
        worker = _register(database)
        measured = [_measure(running, database, broker, worker, pending) for pending in dict.fromkeys((FEW, many))]
        database.dispose()
    return Dispatching(
        few_rate=measured[0][0],
        many_rate=measured[-1][0],
        memory_bytes=max(memory for _, memory, _ in measured),
        task_cpu_s=measured[0][2],
    )


def _register(database: Database) -> uuid.UUID:
    worker = uuid.uuid4()
    with database.transaction() as conn:
        workers.register(
            conn, incarnation=worker, name="none", host="none", pid=1, boot_id="", slots=SLOTS, version="none"
        )
    return worker


def _measure(
    settings: Settings, database: Database, broker: redis.Redis, worker: uuid.UUID, pending: int
) -> tuple[float, int, float]:
    """(tasks a second, bytes, CPU seconds a task)"""
    job = _job(database, pending)
    manager = subprocess.Popen(
        [sys.executable, "-m", "queue_manager"],
        env={**os.environ, **settings.for_role(QUEUE_MANAGER).environment()},
        cwd=Path(__file__).parents[2],
    )
    process = psutil.Process(manager.pid)
    most, sent, start, before = 0, 0, 0.0, 0.0
    begun = time.monotonic()
    try:
        while (now := time.monotonic()) < (start or now) + SECONDS and (not start or sent < pending // 2):
            taken = _take(database, broker, worker)
            sent += taken
            most = max(most, process.memory_info().rss)
            if not start and sent and now > begun + WARM_SECONDS:
                start, sent, before = now, 0, _used(process, database, broker)
        return sent / (time.monotonic() - start), most, (_used(process, database, broker) - before) / sent
    finally:
        manager.terminate()
        manager.wait()
        with database.transaction(durable=True) as conn:
            conn.exec_driver_sql("DELETE FROM job WHERE id = %(job)s", {"job": job})


def _used(manager: psutil.Process, database: Database, broker: redis.Redis) -> float:
    """CPU seconds so far of the queue manager, of the database processes that serve it, and of the broker."""
    with database.transaction() as conn:
        found = conn.exec_driver_sql(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'edbench queue_manager'"
        )
        serving = [psutil.Process(pid) for (pid,) in found]
    info: dict[str, float] = broker.info("cpu")  # type: ignore[assignment]
    return sum(map(used, (manager, *serving))) + info["used_cpu_user"] + info["used_cpu_sys"]


def _job(database: Database, tasks: int) -> uuid.UUID:
    with database.transaction(durable=True) as conn:
        job = bare_job(conn, "dispatching")
        conn.exec_driver_sql(_INSERT, {"job": job, "tasks": tasks})
    return job


def _take(database: Database, broker: redis.Redis, worker: uuid.UUID) -> int:
    """Do what lies at the broker, in no time; how many tasks."""
    with database.transaction() as conn:
        workers.seen(conn, worker, 0.0, 0.0)
        done = conn.exec_driver_sql("UPDATE task SET state = 'done', deadline = NULL WHERE state = 'dispatched'")
    broker.delete(queue_name("db1"))
    return int(done.rowcount)
