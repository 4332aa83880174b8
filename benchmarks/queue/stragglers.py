"""Whether slots end together: a 1 GB mail store in a corpus of 1.5 GB must not leave one slot working alone."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from benchmarks.bench_home import BenchHome
from benchmarks.mbox import write_mbox
from core.services import embedded_services
from core.settings import Settings
from sql.session import Database

MBOX_BYTES = 1_000_000_000
REST_SCALE = "0.0115"  # of the reference corpus: about 0.5 GB raw
_LAST_TASKS = """
SELECT extract(epoch FROM max(finished_at)) AS at FROM task
WHERE job = %(job)s AND phase <> 'finalise' GROUP BY worker, slot ORDER BY at
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """How the slots of one job ended."""

    elapsed_s: float
    between_s: float  # the first slot's last task and the last slot's
    slots: int

    @property
    def share(self) -> float:
        """Of the elapsed time."""
        return self.between_s / self.elapsed_s


def measure(home: BenchHome, workers: int = 2) -> Tail:
    """One job over such a corpus, made here and removed."""
    corpus = home.directory / "lopsided"
    home.run("corpus", "generate", str(corpus), "--profile", "reference", "--scale", REST_SCALE, "--seed", "2")
    source = corpus / "data"
    store = source / "collector"
    store.mkdir()
    write_mbox(store / "everything.mbox", MBOX_BYTES)
    settings = Settings(storage=home.directory / "storage", scratch=home.directory / "scratch")
    with embedded_services(settings, slots=workers * 4) as running:
        result = home.discover(source, "--workers", str(workers))
        database = Database("db1", running.databases[0].url)
        with database.transaction() as conn:
            ends = [float(row.at) for row in conn.exec_driver_sql(_LAST_TASKS, {"job": result["job_id"]})]
        database.dispose()
        home.run("job", "delete", str(result["job_id"]))
    shutil.rmtree(corpus)
    return Tail(elapsed_s=float(result["elapsed_s"]), between_s=ends[-1] - ends[0], slots=len(ends))
