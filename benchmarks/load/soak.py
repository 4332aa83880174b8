"""A million queued tasks, two hundred no-op workers, equal jobs on two databases: flat, fair, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bare_job import bare_job
from benchmarks.load.hands import hands
from benchmarks.load.processes import of_services
from benchmarks.load.samples import Groups, Samples, Size, sampled
from core.roles import QUEUE_MANAGER
from core.services import embedded_services
from core.settings import Settings
from sql.migrate import migrate
from sql.session import Database

JOBS_A_DATABASE = 2
_INSERT = """
INSERT INTO task (job, phase, weight, payload)
SELECT %(job)s, 'walk', 1 + n %% 1000, '{"custodian": 0, "directories": [], "files_only": true}'
FROM generate_series(1, %(tasks)s) n
"""
_DONE = "SELECT job, count(*) AS done FROM task WHERE state = 'done' AND phase = 'walk' GROUP BY job"
_AGAIN = "SELECT count(*) FROM task WHERE attempt > 1"
_OVER = "SELECT count(*) FROM job WHERE state <> 'completed'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """What was seen."""

    tasks: int
    seconds: float
    unfair: float  # at half time: most done by a job over least, of the same database; 1.0 is fair
    again: int  # tasks that were claimed more than once, and finishes that found another claim
    growth: dict[str, Size]  # memory by process, last tenth over second
    peaks: dict[str, Size]


def measure(directory: Path, tasks: int, workers: int) -> Soak:
    """Two jobs a database, two databases, `tasks` in all."""
    settings = Settings(storage=directory / "storage", scratch=directory / "scratch")
    with embedded_services(settings, slots=workers, databases=("db1", "db2")) as running:
        databases = [Database(d.name, d.url, pool_size=1) for d in running.databases]
        for database in databases:
            _jobs(database, tasks // (2 * JOBS_A_DATABASE))
        manager = subprocess.Popen(
            [sys.executable, "-m", "queue_manager"],
            env={**os.environ, **running.for_role(QUEUE_MANAGER).environment()},
            cwd=Path(__file__).parents[2],
        )
        try:
            with sampled(lambda: _groups(manager.pid, settings.scratch)) as samples, hands(running, workers) as lost:
                start = time.monotonic()
                unfair = _run(databases, tasks)
                seconds = time.monotonic() - start
            return _soak(databases, samples, tasks, seconds, unfair, int(lost.value))
        finally:
            manager.terminate()
            manager.wait()
            for database in databases:
                database.dispose()


def _jobs(database: Database, tasks: int) -> None:
    migrate(database)
    for number in range(JOBS_A_DATABASE):
        with database.transaction(durable=True) as conn:
            job = bare_job(conn, f"soak {number}")
            conn.exec_driver_sql(_INSERT, {"job": job, "tasks": tasks})


def _groups(manager: int, scratch: Path) -> Groups:
    """The first sessions only: there are hundreds."""
    try:
        return {"queue manager": [psutil.Process(manager)], **of_services(scratch, 20)}
    except psutil.Error:
        return {}


def _run(databases: list[Database], tasks: int) -> float:
    """Until all jobs are over; how unequal equal jobs were when half of all was done."""
    unfair = 0.0
    while True:
        time.sleep(2.0)
        done = [_done(database) for database in databases]
        if not unfair and sum(sum(d) for d in done) >= tasks // 2:
            unfair = max(max(d) / max(1, min(d)) if len(d) == JOBS_A_DATABASE else float("inf") for d in done)
        if not any(_value(database, _OVER) for database in databases):
            return unfair


def _done(database: Database) -> list[int]:
    with database.transaction() as conn:
        return [int(row.done) for row in conn.exec_driver_sql(_DONE)]


def _value(database: Database, sql: str) -> int:
    with database.transaction() as conn:
        return int(conn.exec_driver_sql(sql).scalar_one())


def _soak(databases: list[Database], samples: Samples, tasks: int, seconds: float, unfair: float, lost: int) -> Soak:
    return Soak(
        tasks=tasks,
        seconds=seconds,
        unfair=unfair,
        again=lost + sum(_value(database, _AGAIN) for database in databases),
        growth=samples.growth(),
        peaks={name: samples.peak(name) for name in samples.sizes},
    )
