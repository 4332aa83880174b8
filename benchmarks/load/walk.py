"""One directory of very many entries: how much memory each process takes while it is walked, at N entries and at 2N."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import EDBENCH, BenchHome
from benchmarks.load.processes import of_command, of_services
from benchmarks.load.samples import Groups, Size, sampled
from core.services import embedded_services
from core.settings import Settings
from sql.jobs import request_cancel
from sql.migrate import migrate
from sql.session import Database

_LINKS_A_FILE = 60_000  # ext4 takes 65,000
_SAMPLE_SECONDS = 0.25
_LAST = """
SELECT j.id, j.phase, j.state, extract(epoch FROM p.finished_at - p.started_at)::float8 AS seconds
FROM job j LEFT JOIN job_phase p ON p.job = j.id AND p.phase = 'walk'
"""
_FOUND = """
SELECT (SELECT coalesce(sum(jsonb_array_length(payload -> 'files')), 0)::bigint FROM task) AS entries,
    pg_database_size(current_database()) AS bytes
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What was seen of one job, from its start until its directory was walked."""

    entries: int  # that were found
    seconds: float
    peaks: dict[str, Size]  # by process
    database_bytes: int


def measure(home: BenchHome, directory: Path, entries: int, workers: int = 2) -> tuple[Walked, Walked]:
    """A job over a directory of so many entries, then one over twice as many. What comes after the walk is cancelled."""
    settings = Settings(storage=home.directory / "storage", scratch=home.directory / "scratch")
    with embedded_services(settings, slots=workers * 4) as running:
        database = Database("db1", running.databases[0].url)
        try:
            migrate(database)
            fill(directory / "ann", 0, entries)
            once = _walked(home, database, directory, workers)
            fill(directory / "ann", entries, 2 * entries)
            return once, _walked(home, database, directory, workers)
        finally:
            database.dispose()


def fill(folder: Path, first: int, last: int) -> None:
    """Entries of these numbers, hard links of a few files: a file each would cost an inode each."""
    folder.mkdir(parents=True, exist_ok=True)
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        name = ""
        for number in range(first, last):
            if not name or number % _LINKS_A_FILE == 0:
                name = f"file {number:08d}.txt"
                with open(folder / name, "x") as file:
                    file.write(f"words of file {number}")
            else:
                os.link(name, f"file {number:08d}.txt", src_dir_fd=here, dst_dir_fd=here)
    finally:
        os.close(here)


def _walked(home: BenchHome, database: Database, source: Path, workers: int) -> Walked:
    line = [str(EDBENCH), "discover", str(source), "--workers", str(workers)]
    process = subprocess.Popen(
        line, env=home.environment(), cwd=home.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with sampled(lambda: _groups(home, process.pid), _SAMPLE_SECONDS) as samples:
            job, seconds = _until_walked(database, process)
        with database.transaction(durable=True) as conn:
            request_cancel(conn, job)
            found = conn.exec_driver_sql(_FOUND).one()
        process.wait()
    finally:
        process.terminate()  # where something went wrong: it has ended otherwise
        process.wait()
    home.run("job", "delete", str(job))
    return Walked(
        entries=int(found.entries),
        seconds=seconds,
        peaks={name: samples.peak(name) for name in samples.sizes},
        database_bytes=int(found.bytes),
    )


def _groups(home: BenchHome, command: int) -> Groups:
    return {**of_command(command), **of_services(home.directory / "scratch")}


def _until_walked(database: Database, process: subprocess.Popen[bytes]) -> tuple[uuid.UUID, float]:
    """The job, and the seconds that its walk took. Raises RuntimeError when the job does not come to its end."""
    while process.poll() is None:
        time.sleep(_SAMPLE_SECONDS)
        with database.transaction() as conn:
            job = conn.exec_driver_sql(_LAST).one_or_none()
        if job is not None and job.phase != "walk":
            return job.id, float(job.seconds)
        if job is not None and job.state != "running":
            break
    raise RuntimeError(f"the walk did not end: {job.state if job is not None else 'there is no job'}")
