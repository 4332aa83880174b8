"""One large job: whether items come as fast at its end as at its beginning, in memory that does not grow."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_home import EDBENCH, BenchHome
from benchmarks.load.processes import of_command
from benchmarks.load.samples import Size, sampled
from core.services import embedded_services
from core.settings import Settings
from sql.session import Database

_ENDS = """
SELECT extract(epoch FROM finished_at) AS at, items, weight FROM task
WHERE job = %(job)s AND phase = %(phase)s ORDER BY finished_at
"""
PHASES = ("expand", "index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """What was seen."""

    items: int
    elapsed_s: float
    items_per_second: float
    # By phase and unit, last tenth of its time over the second: items a second, and what the ledger weighs tasks by
    # (bytes), since a batch of large files has few items.
    steady: dict[str, float]
    growth: dict[str, Size]  # memory by phase and process, last tenth of the phase over its second
    peaks: dict[str, Size]
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
        with sampled(lambda: of_command(process.pid)) as samples:
            status = process.wait()
        if status:
            raise RuntimeError(f"{' '.join(line)} gave {status}")
        found = json.loads(target.read_text())
        database = Database("db1", running.databases[0].url)
        ends = {phase: _ends(database, found["job_id"], phase) for phase in PHASES}
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
        steady={
            f"{phase}_{unit}": _steady([(end[0], end[column]) for end in of])
            for phase, of in ends.items()
            for column, unit in enumerate(("items", "weight"), 1)
        },
        growth={
            f"{phase} {name}": growth
            for phase, of in ends.items()
            for name, growth in samples.growth(of[0][0], of[-1][0]).items()
        },
        peaks={name: samples.peak(name) for name in samples.sizes},
        differences=verified.stdout.strip().splitlines()[-1],
    )


def _ends(database: Database, job: str, phase: str) -> list[tuple[float, int, int]]:
    """When each task of a phase ended, with its items and its weight, in order."""
    with database.transaction() as conn:
        rows = conn.exec_driver_sql(_ENDS, {"job": job, "phase": phase})
        return [(float(row.at), int(row.items), int(row.weight)) for row in rows]


def _steady(ends: list[tuple[float, int]]) -> float:
    """What was done a second in the last tenth of the phase's time over that in its second tenth."""
    first, last = ends[0][0], ends[-1][0]
    step = (last - first) / 10
    if not step:
        return 1.0

    def between(start: float, end: float) -> int:
        return sum(done for at, done in ends if start < at <= end)

    return between(last - step, last) / max(1, between(first + step, first + 2 * step))
