"""Jobs created and cancelled at random moments, and deleted: nothing of them is left."""

from __future__ import annotations

import os
import random
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import EDBENCH, BenchHome
from core.services import embedded_services
from core.settings import Settings
from sql.session import Database

_LEFT = """
SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM task) + (SELECT count(*) FROM item)
    + (SELECT count(*) FROM exception) + (SELECT count(*) FROM shard) + (SELECT count(*) FROM item_index) AS rows
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What ten cancelled and deleted jobs left behind."""

    rows: int
    files: int
    cancelled: int  # of the jobs; the rest were over before


def measure(home: BenchHome, corpus: Path, jobs: int = 10, seed: int = 1) -> Left:
    """One job after another, each cancelled after up to two undisturbed jobs' half."""
    chance, cancelled = random.Random(seed), 0
    start = time.monotonic()
    whole = home.discover(corpus, "--workers", "2")
    seconds = time.monotonic() - start
    home.run("job", "delete", str(whole["job_id"]))
    settings = Settings(storage=home.directory / "storage", scratch=home.directory / "scratch")
    with embedded_services(settings, slots=8) as running:
        database = Database("db1", running.databases[0].url)
        for _ in range(jobs):
            cancelled += _one(home, database, corpus, chance.uniform(0.0, seconds))
        with database.transaction() as conn:
            rows = int(conn.exec_driver_sql(_LEFT).scalar_one())
        database.dispose()
    files = sum(len(names) for _, _, names in os.walk(home.directory / "storage" / "jobs"))
    return Left(rows=rows, files=files, cancelled=cancelled)


def _one(home: BenchHome, database: Database, corpus: Path, after: float) -> bool:
    """Start a job, cancel it so many seconds later, delete it; whether it was cancelled in time."""
    process = subprocess.Popen(
        [str(EDBENCH), "discover", str(corpus), "--workers", "2"],
        env=home.environment(),
        cwd=home.directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not _jobs(database) and process.poll() is None:
        time.sleep(0.05)
    time.sleep(after)
    cancel = subprocess.run(
        [str(EDBENCH), "cancel", "last"], env=home.environment(), cwd=home.directory, capture_output=True, check=False
    )
    process.wait()
    for job in _jobs(database):
        home.run("job", "delete", job)
    return not cancel.returncode


def _jobs(database: Database) -> list[str]:
    with database.transaction() as conn:
        return [str(row.id) for row in conn.exec_driver_sql("SELECT id FROM job")]
