"""What queue and ledger cost of a job: processor seconds of a no-op task, times the job's tasks, over the job's own.

Counted are all processes: the command, workers, queue manager, broker and PostgreSQL. A no-op task is dispatched, sent,
claimed, checked and finished like any other; so what it takes is what the protocol takes of each task.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_home import BenchHome
from benchmarks.queue import noop
from controller.cluster.embedded import EmbeddedCluster
from core.services import embedded_services
from core.services.embedded import running_services
from core.settings import Settings
from sql.migrate import migrate
from sql.session import Database

NO_OPS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerShare:
    """What was measured."""

    task_cpu_ms: float  # of a no-op task
    tasks: int  # of the job
    job_cpu_s: float  # of the job, all processes, from the command's start to its end

    @property
    def share(self) -> float:
        """Of the job's processor seconds."""
        return self.tasks * self.task_cpu_ms / 1000 / self.job_cpu_s


def measure(home: BenchHome, corpus: Path, workers: int = 2) -> LedgerShare:
    """A no-op job and a discovery job with the same services."""
    settings = Settings(storage=home.directory / "storage", scratch=home.directory / "scratch", slots=noop.SLOTS)
    with embedded_services(settings, slots=workers * noop.SLOTS) as running:
        database = Database("db1", running.databases[0].url)
        migrate(database)
        with EmbeddedCluster(running, workers, noop.SLOTS, env=dict(os.environ)):
            noop.run(database, settings, home.directory, 50)  # everything is up and warm
            before = _cpu(settings.scratch)
            noop.run(database, settings, home.directory, NO_OPS)
            each = (_cpu(settings.scratch) - before) / NO_OPS
        before = _cpu(settings.scratch)
        result = home.discover(corpus, "--workers", str(workers))
        used = _cpu(settings.scratch) - before
        with database.transaction() as conn:
            count = "SELECT count(*) FROM task WHERE job = %(job)s"
            tasks = int(conn.exec_driver_sql(count, {"job": result["job_id"]}).scalar_one())
        home.run("job", "delete", str(result["job_id"]))
        database.dispose()
    return LedgerShare(task_cpu_ms=each * 1000, tasks=tasks, job_cpu_s=used)


def _cpu(scratch: Path) -> float:
    """Processor seconds of this process, the services and everything below them, those ended and waited for included."""
    services = running_services(scratch)
    roots = [os.getpid()] if services is None else [os.getpid(), services.keeper]
    seen: set[int] = set()
    total = 0.0
    for root in roots:
        for process in _tree(root):
            if process.pid in seen:
                continue
            seen.add(process.pid)
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []
