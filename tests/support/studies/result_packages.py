"""A result package of a study of discoveries whose observations are made up: everything after observing is real."""

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from job_figures import figures

from controller.jobs.figures import ChildTotals
from controller.observe.call_time import CallTimeFigures
from controller.observe.io_kinds import IoFigures
from core.clock import SystemClock
from core.histogram import Histogram
from core.operations import Op
from core.records import JobState
from experiments.kinds import Plan, sweep
from experiments.package.check import finish
from experiments.result.codec import FILE
from experiments.result.schema import At
from experiments.study import conduct
from experiments.workload import Observe, Turn, Workload
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.observed import JobTables, Observed, OnNull, RecordTable, Samples
from experiments.workloads.discovery.result import PointSpec

Forgery = Callable[[Path], None]
START = 1_700_000_000.0
CALL_TIME = CallTimeFigures(
    call_s=2.0, service_s=0.5, queue_s=None, processor_s=1.5, exact=False, dominated={"read": ["p99"]}
)
IO = IoFigures(kinds=[], counters=[], unrecorded_share=0.25)
PHASES = ("walk", "expand", "index", "finalise")


def package(directory: Path, *, elapsed: float = 40.0, plan: Plan | None = None) -> Path:
    """One and two slots; two take half of `elapsed` seconds, null storage a quarter. No predictions: they take a second."""
    plan = plan or sweep([PointSpec(1, 1, 1)], "slots", [1, 2], repeats=2, seed=1)
    result, where = conduct(Made(directory, elapsed), plan)
    finish(result, where)
    return where


class Made(Workload):
    """Runs that take as long as they are told to."""

    about = ABOUT

    def __init__(self, storage: Path, elapsed: float) -> None:
        self.storage, self.clock, self.say = storage, SystemClock(), lambda _line: None
        self._elapsed = elapsed

    @contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        yield lambda: observed(turn, self._elapsed)

    def surroundings(self) -> dict[str, Any]:
        return surroundings()


def surroundings() -> dict[str, Any]:
    """Of a network filer with a declared cache, all of it smaller than the corpus."""
    mount = {"point": "/mnt/f", "type": "nfs4", "source": "f:/v", "options": ["rw", "noatime", "vers=4.2"]}
    return {
        "configuration": {"cold": False, "passes": 2},
        "corpus": {"path": "/mnt/f/c", "hash": "abc", "raw_bytes": 10**9, "files": 100},
        "cache": {"client_memory_bytes": 10**8, "filer_cache_bytes": 0, "filer_caches_itself": True},
        "storage": {"path": "/mnt/f", "label": "network storage (nfs4)", "mount": mount},
        "source": {"path": "/mnt/f/c", "label": "network storage (nfs4)", "mount": mount},
        "emulated_filer": None,
        "null_storage": {"paired": True, "place": "/dev/shm", "why_not": None},
        "hosts": [{"name": "client", "processors": 4, "memory_bytes": 10**8}],
        "fresh": "everything",
    }


def observed(turn: Turn, elapsed: float) -> Observed:
    seconds = elapsed / _slots(turn.at) + turn.order / 100
    return Observed(
        repeat=turn.repeat,
        order=turn.order,
        started_at=START,
        processors=4,
        result=job_result(),
        jobs=(job(seconds),),
        samples=Samples(
            activity={"db1": [(START - 1, 0, 0), (START + 5, 10, 100), (START + 50, 20, 200)]},
            queue=[(START + 1, 5, 4, 3), (START + 9, 0, 0, 1)],
            workers=[(START - 1, 0.0, 0.0), (START + 60, 30.0, 2.0)],
            host=[(START - 1, 0.0, 0.0), (START + 60, 40.0, 240.0)],
            serving=[(START - 1, {"databases": 0.0}), (START + 60, {"databases": 6.0})],
        ),
        containers=(),
        filer=(),
        offsets=({"db1": 0.0}, {"db1": 0.0}),
        drops=(),
        databases=({"name": "db1", "on_storage_under_test": False, "path": "/var/tmp/db1"},),
        null=(OnNull(result=job_result(), jobs=(job(elapsed / 4),), held_bytes=10**8),),
    )


def _slots(at: At) -> int:
    return int(at.values()["slots"])


def job_result() -> dict[str, Any]:
    """What databases counted."""
    found = figures(
        state=JobState.COMPLETED_WITH_EXCEPTIONS,
        raw_bytes=10**9,
        discovered_bytes=2 * 10**9,
        index_bytes=10**8,
        items=1_000,
        containers=10,
        exceptions={"corrupt": 3},
        children=ChildTotals(expected=900, emitted=897, failed=3),
        labels=[],
        versions={"edbench": "0"},
        call_time=CALL_TIME,
        io=IO,
    )
    return found.to_json()


def job(seconds: float) -> JobTables:
    """Four phases of equal length, a task of each, and ten reads and ten writes of 4 KiB and 1 ms every second."""
    part = seconds / len(PHASES)
    spans = [(phase, START + n * part, START + (n + 1) * part) for n, phase in enumerate(PHASES)]
    calls = [
        (int(START) + second, PHASES[min(3, int(second / part))], op.value, 10, 40_960, 0, 10_000_000, 1_100_000)
        for second in range(int(seconds))
        for op in (Op.READ, Op.WRITE)
    ]
    histogram = Histogram()
    for _ in range(10):
        histogram.record(1_000_000, 4_096)
    encoded = base64.b64encode(histogram.encode()).decode()
    return JobTables(
        database="db1",
        tables={
            "job_times": _table("first_claim finished stopped", [(START, START + seconds, 0.0)]),
            "job_held": _table("started finished", [(None, None)]),
            "phase_spans": _table("phase started finished stopped", [(*span, 0.0) for span in spans]),
            "task_spans": _table("worker slot phase claimed finished", [("w1", 0, *span) for span in spans]),
            "call_seconds": RecordTable(
                columns=("second", "phase", "op", "calls", "bytes", "errors", "total_ns", "max_ns", "histogram"),
                rows=tuple((*row, encoded) for row in calls),
                binary=("histogram",),
            ),
            "heaviest_files": _table("items bytes", [(3, 10**6)]),
        },
    )


def _table(columns: str, rows: Sequence[tuple[Any, ...]]) -> RecordTable:
    return RecordTable(columns=tuple(columns.split()), rows=tuple(rows))


def edit_json(file: Path, change: Any) -> None:
    """`change` is given the data of a JSON file, which is written again."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data, indent=1) + "\n")


def of_result(change: Callable[[Any], object]) -> Forgery:
    """Another result than what was observed gives."""
    return lambda at: edit_json(at / FILE, change)


def of_observed(change: Callable[[Any], object]) -> Forgery:
    """Another observation of the first run."""

    def forge(at: Path) -> None:
        file = at / "raw" / "runs" / "000.json.gz"
        data = json.loads(gzip.decompress(file.read_bytes()))
        change(data["observed"])
        file.write_bytes(gzip.compress(json.dumps(data).encode()))

    return forge
