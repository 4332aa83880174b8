"""What a worker does for the trace of a job, with real processes: it delivers late, and whatever happens to it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
from installation import PATIENCE, children_of, is_gone

from core.places import job_location
from traces.parts import parts_directory
from traces.spool import read_spool


def _delivered(bench: Any) -> list[bytes]:
    """The paths of the calls that have arrived on the storage root."""
    parts = parts_directory(bench.scratch / "storage", bench.job).glob("*.calls")
    return sorted(path for part in parts for block in read_spool(part)[1] for path in block.paths)


def _tasks(bench: Any, *paths: str) -> None:
    (bench.scratch / "storage" / os.fsdecode(job_location(bench.job))).mkdir(parents=True)
    bench.tasks(*({"do": "nothing", "stat": path} for path in paths))


def test_a_worker_that_lives_on_delivers_when_the_job_is_over(bench: Any) -> None:
    _tasks(bench, "/", "/usr")
    bench.start(slots=2)
    bench.until(bench.done)
    assert not parts_directory(bench.scratch / "storage", bench.job).exists()
    with bench.database.transaction() as conn:
        conn.exec_driver_sql("UPDATE job SET state = 'completed'")
    incarnation = bench.one("SELECT incarnation FROM worker").incarnation
    done = parts_directory(bench.scratch / "storage", bench.job) / f"{incarnation.hex}.done"
    bench.until(done.exists)
    assert _delivered(bench) == [b"/", b"/usr"]


def test_a_worker_that_leaves_delivers_whatever_its_jobs_do(bench: Any) -> None:
    _tasks(bench, "/", "/usr")
    killed = bench.start()
    bench.until(bench.done)
    slots = children_of(psutil.Process(killed.pid))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    bench.until(lambda: all(is_gone(slot) for slot in slots))
    assert _delivered(bench) == []
    later = bench.start("w2")
    bench.until(lambda: _delivered(bench) == [b"/", b"/usr"])
    with bench.database.transaction() as conn:
        conn.exec_driver_sql("UPDATE task SET state = 'pending', attempt = 0 WHERE payload ->> 'stat' = '/'")
    bench.until(bench.done)
    later.terminate()
    assert later.wait(PATIENCE) == 0
    assert _delivered(bench) == [b"/", b"/", b"/usr"]
    assert not any(Path(bench.scratch / "traces").iterdir())
