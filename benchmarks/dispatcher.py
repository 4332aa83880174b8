"""Rate of the queue manager's dispatch: slots that take no time replace workers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import redis

from benchmarks import set_up
from benchmarks.driver import bare_job, used
from core.celery_app import queue_name
from core.roles import QUEUE_MANAGER
from core.services import broker_keeper_url, embedded_services
from core.settings import Settings
from sql.migrate import migrate
from sql.session import Database
from sql.workers import WORKERS, NewWorker, register

PENDING = 100_000
_SLOTS, _DISPATCHED_S, _WARM_S = 32, 8.0, 1.0
_TASKS = """
INSERT INTO task (job, phase, weight, payload)
SELECT %(job)s, 'walk', 1 + n %% 1000, '{"custodian": 0, "directories": [], "files_only": true}'
FROM generate_series(1, %(tasks)s) n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatching:
    """One measurement, with `PENDING` tasks pending."""

    rate: float  # tasks/s marked and sent
    memory_bytes: int  # largest resident memory of the queue manager's process
    task_cpu_s: float  # of the queue manager, the database processes that serve it, and the broker


def measure(directory: Path) -> Dispatching:
    """Run `python -m queue_manager`; one statement sets dispatched tasks to done, another deletes their messages."""
    settings = Settings(storage=directory / "storage", scratch=directory / "scratch")
    with embedded_services(settings, slots=_SLOTS) as running:
        database = Database("db1", running.databases[0].url)
        migrate(database)
        broker = redis.Redis.from_url(broker_keeper_url(running.scratch))
        worker, about = uuid.uuid4(), {"name": "none", "host": "none", "boot_id": "", "version": "none"}
        with database.transaction(durable=True) as conn:
            register(conn, NewWorker(incarnation=worker, pid=1, slots=_SLOTS, **about))
            conn.execute(_TASKS, {"job": bare_job(conn, "dispatching"), "tasks": PENDING})
        environment = {**os.environ, **running.for_role(QUEUE_MANAGER).environment()}
        manager = subprocess.Popen([sys.executable, "-m", "queue_manager"], env=environment, cwd=set_up.ROOT)
        process, most, sent, start, began = psutil.Process(manager.pid), 0, 0, 0.0, time.monotonic()
        before = 0.0
        try:
            while (now := time.monotonic()) < (start or now) + _DISPATCHED_S and (not start or sent < PENDING // 2):
                with database.transaction() as conn:
                    WORKERS.worker_seen(conn, incarnation=worker)
                    done = "UPDATE task SET state = 'done', deadline = NULL WHERE state = 'dispatched'"
                    sent += int(conn.execute(done).rowcount)
                broker.delete(queue_name("db1"))
                most = max(most, process.memory_info().rss)
                if not start and sent and now > began + _WARM_S:
                    start, sent, before = now, 0, _cpu_seconds(process, database, broker)
            spent = _cpu_seconds(process, database, broker) - before
            return Dispatching(rate=sent / (time.monotonic() - start), memory_bytes=most, task_cpu_s=spent / sent)
        finally:
            manager.terminate()
            manager.wait()
            database.dispose()


def _cpu_seconds(manager: psutil.Process, database: Database, broker: Any) -> float:
    with database.transaction() as conn:
        found = conn.execute("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'edbench queue_manager%%'")
        serving = [psutil.Process(pid) for (pid,) in found]
    info = broker.info("cpu")
    return sum(map(used, (manager, *serving))) + float(info["used_cpu_user"] + info["used_cpu_sys"])
