"""controller.labels: when a label is given, of a job while it runs and afterwards."""

from typing import Any

import pytest
from made_records import progress, running_job

from controller.labels.jobs import labels_of
from controller.labels.rules import Effort, FilerCache, advice_on, filer_cache, ruled, short_of_processors, unique_bytes
from controller.timeline.job_status import JobStatus
from core.records import FilerChoice
from sql.jobs import JobProgress

NO_CACHE = FilerCache()
LIMIT = ["GENERATOR-LIMITED"]


def status(**options: Any) -> JobStatus:
    job = running_job(**options)
    return JobStatus(job=job, started=100.0, finished=None, now=200.0, phases=[], exceptions={}, calls={3: (5, 10**10)})


def done(*, discovered: int = 1000, known: bool = True, elapsed_s: float = 100.0) -> JobProgress:
    return progress(raw_bytes=discovered, elapsed_s=elapsed_s, total_known=known)


def titles_of(progress: JobProgress, last: dict[str, Any], unique: float | None = 1000.0) -> list[str]:
    place = {"host": "h", "processors": 2, "memory_bytes": 100}
    return labels_of([status()], [progress], {"w": place | last}, {"w": {"cpu_s": 7.0}}, unique, NO_CACHE)


@pytest.mark.parametrize(
    ("unique", "elapsed_s", "last", "labels"),
    [
        (1000.0, 100.0, {"cpu_s": 17.0}, []),
        (299.0, 100.0, {"cpu_s": 17.0}, ["CACHED: not a storage result"]),
        (None, 100.0, {"cpu_s": 17.0}, []),
        (1000.0, 100.0, {"cpu_s": 177.0}, ["GENERATOR-LIMITED"]),
        (1000.0, 100.0, {"cpu_s": 17.0, "run_queue_s": 1.5}, ["GENERATOR-LIMITED"]),
        (1000.0, 100.0, {"cpu_s": 17.0, "run_queue_s": 9.0, "busy_s": 18.0, "slot_wait_s": [0.5, 0.4]}, []),
        (1000.0, 100.0, {"cpu_s": 17.0, "run_queue_s": 9.0, "busy_s": 18.0, "slot_wait_s": [1.0, 2.0]}, LIMIT),
        (1000.0, 100.0, {"run_queue_s": 9.0, "busy_s": 18.0, "slot_wait_s": [1.0, 2.0], "slot_over_s": [0.5]}, []),
        (1000.0, 1.0, {"cpu_s": 177.0, "run_queue_s": 9.0}, []),
    ],
)
def test_labels_of_a_job(unique: float | None, elapsed_s: float, last: dict[str, Any], labels: list[str]) -> None:
    """Cached once all data is known, limited by the whole run, nothing of that in the first seconds. Of 10 s in calls,
    waits for a processor, of whatever process, limit nobody whose slots spend most of 18 s in tasks there without them."""
    assert titles_of(done(elapsed_s=elapsed_s), last, unique) == labels


def test_an_emulated_filer_is_reported_first() -> None:
    filer = FilerChoice(source="small", name="small", scale=50.0, digest="abc")
    last = {"w": {"host": "h", "processors": 2, "memory_bytes": 1000}}
    cache = FilerCache(possible=True)
    found = labels_of([status(filer=filer)], [done()], last, {}, 1.0, cache)
    assert found == ["EMULATED FILER small, scale 1/50", "CACHED: not a storage result", "FILER CACHE UNDECLARED"]
    assert all(map(ruled, found))
    assert not ruled("latencies are closed-loop")
    assert len(advice_on(found)) == len(found)


def test_a_declared_cache_counts() -> None:
    """1,000 bytes are enough for 100 of memory, and not for what the filer holds beside."""
    last = {"w": {"host": "h", "processors": 2, "memory_bytes": 100}}
    assert labels_of([status()], [done()], last, {}, 1000.0, FilerCache(declared=0, possible=True)) == []
    (label,) = labels_of([status()], [done()], last, {}, 1000.0, FilerCache(declared=234, possible=True))
    assert label.startswith("CACHED")


def test_what_two_databases_read_of_one_source_counts_once() -> None:
    assert unique_bytes(300, kind="simultaneous", jobs=2, source_copies=1) == 150
    assert unique_bytes(300, kind="simultaneous", jobs=2, source_copies=2) == 300
    assert unique_bytes(300, kind="sharded", jobs=2, source_copies=1) == 300
    assert unique_bytes(300, kind=None, jobs=1, source_copies=1) == 300


def test_nothing_is_reported_of_what_was_not_measured() -> None:
    assert short_of_processors(Effort(cpu=None, waits=None)) == ()
    assert filer_cache("/", 5) == FilerCache(declared=5, possible=filer_cache("/", None).possible)
