"""One large job: whether items come as fast at its end as at its beginning, in memory that does not grow."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_home import EDBENCH, BenchHome
from benchmarks.load.samples import Groups, sampled
from core.services import embedded_services
from core.settings import Settings
from sql.session import Database

# Items by tenth of a phase's tasks in the order in which they ended, a tenth holding the same number of tasks' time.
_ENDS = """
SELECT extract(epoch FROM finished_at) AS at, items FROM task
WHERE job = %(job)s AND phase = %(phase)s ORDER BY finished_at
"""
PHASES = ("expand", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """What was seen."""

    items: int
    elapsed_s: float
    items_per_second: float
    steady: dict[str, float]  # by phase: items a second in the last tenth of its time over those in the second
    growth: dict[str, float]  # memory by process, last tenth over second
    peaks: dict[str, int]  # bytes
    differences: str  # verify's last line


def measure(home: BenchHome, corpus: Path, workers: int = 2) -> Large:
    """One job over a corpus, verified, and deleted."""
    target = home.directory / "large.json"
    settings = Settings(storage=home.directory / "storage", scratch=home.directory / "scratch")
    with embedded_services(settings, slots=workers * 4) as running:
        line = [str(EDBENCH), "discover", str(corpus), "--workers", str(workers), "--json", str(target)]
        process = subprocess.Popen(
            line, env=home.environment(), cwd=home.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with sampled(lambda: _groups(process.pid)) as samples:
            status = process.wait()
        if status:
            raise RuntimeError(f"{' '.join(line)} gave {status}")
        found = json.loads(target.read_text())
        database = Database("db1", running.databases[0].url)
        steady = {phase: _steady(database, found["job_id"], phase) for phase in PHASES}
        database.dispose()
        verified = subprocess.run(
            [str(EDBENCH), "verify", str(found["job_id"])],
            env=home.environment(),
            cwd=home.directory,
            capture_output=True,
            text=True,
            check=True,
        )
        start = time.monotonic()
        home.run("delete", str(found["job_id"]))
        print(f"deleting it took {time.monotonic() - start:.1f} s", flush=True)
    return Large(
        items=int(found["items"]),
        elapsed_s=float(found["elapsed_s"]),
        items_per_second=float(found["items_per_second"]),
        steady=steady,
        growth=samples.growth(),
        peaks={name: samples.peak(name) for name in samples.sizes},
        differences=verified.stdout.strip().splitlines()[-1],
    )


def _groups(command: int) -> Groups:
    try:
        below = psutil.Process(command).children(recursive=True)
        supervisors = [p for p in below if "--name" in p.cmdline()]
        pids = {p.pid for p in supervisors}
        slots = [p for p in below if p.ppid() in pids]
        managers = [p for p in below if "queue_manager" in p.cmdline()]
    except psutil.Error:
        return {}
    return {"command": [psutil.Process(command)], "queue manager": managers, "supervisor": supervisors, "slot": slots}


def _steady(database: Database, job: str, phase: str) -> float:
    """Items a second in the last tenth of the phase's time over those in the second tenth."""
    with database.transaction() as conn:
        ends = [(float(row.at), int(row.items)) for row in conn.exec_driver_sql(_ENDS, {"job": job, "phase": phase})]
    first, last = ends[0][0], ends[-1][0]
    step = (last - first) / 10
    if not step:
        return 1.0

    def between(start: float, end: float) -> int:
        return sum(items for at, items in ends if start < at <= end)

    return between(last - step, last) / max(1, between(first + step, first + 2 * step))
