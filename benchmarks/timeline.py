"""The page's data of a long run: how long the server takes to make an hour of it, from first statement to JSON."""

from __future__ import annotations

import io
import json
import math
import statistics
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bare_job import bare_job
from controller.databases import JobHandle
from controller.timeline.read import read_timeline
from core.histogram import Histogram
from core.operations import Op
from core.services import embedded_services
from core.settings import Settings
from monitoring.steps import STEPS
from sql import jobs
from sql.migrate import migrate
from sql.session import Database

SECONDS, WORKERS, OPS = 3_600, 8, 10
POINTS = 600  # that the page asks for
_REPEATS = 7
_WIRE_OPS = ("READ", "WRITE", "GETATTR", "LOOKUP", "OPEN", "CLOSE", "ACCESS", "READDIR", "CREATE", "RENAME", "REMOVE")
_JOB = "UPDATE job SET first_claim_at = to_timestamp(%(start)s), state = 'running', phase = 'index' WHERE id = %(job)s"
_PHASES = """
INSERT INTO job_phase (job, phase, started_at, finished_at) VALUES
(%(job)s, 'walk', to_timestamp(%(start)s), to_timestamp(%(start)s + 60)),
(%(job)s, 'expand', to_timestamp(%(start)s + 60), to_timestamp(%(start)s + 1800)),
(%(job)s, 'index', to_timestamp(%(start)s + 1800), NULL)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What was measured, milliseconds: medians."""

    whole_ms: float  # the page's first load
    increment_ms: float  # what it gets once a second from then on
    bytes: int  # of the whole, as JSON


def measure(directory: Path) -> Drawing:
    """An hour of a running job with its calls, workers, database, one mount and one block device."""
    settings = Settings(storage=directory / "storage", scratch=directory / "scratch")
    with embedded_services(settings, slots=4) as running:
        database = Database("db1", running.databases[0].url)
        migrate(database)
        handle = _hour(database)
        whole, text = _milliseconds(handle, None)
        increment, _ = _milliseconds(handle, float(SECONDS - 10))
        database.dispose()
    return Drawing(whole_ms=whole, increment_ms=increment, bytes=len(text))


def _milliseconds(handle: JobHandle, since: float | None) -> tuple[float, str]:
    took, text = [], ""
    for _ in range(_REPEATS):
        began = time.perf_counter()
        text = json.dumps(read_timeline([handle], since=since, points=POINTS).to_json())
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took), text


def _hour(database: Database) -> JobHandle:
    start = int(time.time()) - SECONDS
    with database.transaction(durable=True) as conn:
        job = bare_job(conn, "hour", workers=WORKERS, slots=4)
        conn.exec_driver_sql(_JOB, {"job": job, "start": start})
        conn.exec_driver_sql(_PHASES, {"job": job, "start": start})
        _copy(conn, "call_step", _steps(job, start))
        _copy(conn, 'observation (second, kind, source, job, "values")', _observations(job, start))
    with database.transaction() as conn:
        conn.exec_driver_sql("ANALYZE call_step, observation")
        return JobHandle(database, jobs.get_job(conn, job))


def _copy(conn: Any, target: str, lines: Iterator[str]) -> None:
    with conn.connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {target} FROM STDIN", io.StringIO("\n".join(lines) + "\n"))


def _steps(job: uuid.UUID, start: int) -> Iterator[str]:
    histogram = Histogram({40 + n: 5 + n % 7 for n in range(60)}).encode().hex()
    for step in STEPS:
        for second in range(start - start % step, start + SECONDS, step):
            for op in list(Op)[:OPS]:
                calls = int(step * 500 * (1.5 + math.sin(second / 60)))
                counts = [calls, calls * 4096, 0, calls * 90_000, 40_000_000, 80_000, 400_000, 2_000_000]
                yield "\t".join([str(job), *map(str, (step, second, int(op), *counts)), "\\\\x" + histogram])


def _observations(job: uuid.UUID, start: int) -> Iterator[str]:
    for n in range(SECONDS):
        for kind, source, owner, values in _second(n):
            text = json.dumps(values).replace("\\", "\\\\")
            yield "\t".join([str(start + n), kind, source, str(job) if owner else "\\N", text])


def _second(n: int) -> Iterator[tuple[str, str, bool, dict[str, Any]]]:
    for worker in range(1, WORKERS + 1):
        yield "worker", f"w{worker}", False, worker_values(n)
    yield "wire", "0123abcd:filer:0:52", False, wire_values(n)
    yield "block", "0123abcd:sda", False, block_values(n)
    free = {"bytes_free": 10**13 - 10**7 * n, "inodes_free": 10**8 - 9 * n}
    yield "space", "0123abcd:filer:0:52", False, {"bytes": 10**13, "inodes": 10**8} | free
    yield "database", "db1", False, {"commits": 40 * n, "rows": 900 * n, "rolled_back": 0, "active": 3, "waiting": 0}
    yield "queue", "db1", True, {"phase": "index", "pending": 900 - n % 900, "dispatched": 32, "running": 32}
    done = {"items": 250 * n, "items_indexed": 125 * n, "raw_bytes": 12_000_000 * n, "discovered_bytes": 20_000_000 * n}
    clocks = {"elapsed_s": float(n), "phase_s": float(max(1, n - 1800)), "phase": "index", "containers": n}
    work = {"open": 4_000 - n, "done": n, "weight_open": 10**9, "weight_done": 10**6 * n, "indexed_bytes": 10**6 * n}
    yield (
        "progress",
        "db1",
        True,
        done | clocks | work | {"index_bytes": 10**6 * n, "index_written_bytes": 10**6 * n, "exceptions": n // 9},
    )


def worker_values(n: int) -> dict[str, Any]:
    """A worker's observation in its n-th second."""
    used = {"cpu_s": 0.9 * n, "run_queue_s": 0.05 * n, "rss_bytes": 800_000_000, "busy_s": 3.6 * n}
    place = {"host": "0123abcd", "processors": 16, "memory_bytes": 1 << 36, "slots": 4, "busy_slots": 4}
    return used | place | {"database_s": {"db1": 0.4 * n}}


def wire_values(n: int) -> dict[str, Any]:
    """An NFS mount's."""
    counts = {"ops": 90 * n, "transmissions": 90 * n, "timeouts": 0, "bytes_sent": 9_000 * n, "errors": 0}
    times = {"bytes_received": 400_000 * n, "queue_ms": 3 * n, "rtt_ms": 70 * n, "execute_ms": 80 * n}
    moved = {"read_bytes": 20_000_000 * n, "write_bytes": 9_000_000 * n, "backlog": 0, "slots": 64}
    return moved | {"type": "nfs4", "version": "4.2", "storage": True, "ops": dict.fromkeys(_WIRE_OPS, counts | times)}


def block_values(n: int) -> dict[str, Any]:
    """A block device's."""
    moved = {"reads": 300 * n, "read_bytes": 10**7 * n, "writes": 200 * n, "write_bytes": 10**7 * n}
    return moved | {"read_ms": 90 * n, "write_ms": 80 * n, "in_flight": 3, "busy_ms": 600 * n, "weighted_ms": 900 * n}
