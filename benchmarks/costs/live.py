"""What recording and the live view cost: processor seconds of a discovery run with both, and with neither."""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from benchmarks.bench_home import BenchHome
from controller.databases import find_job
from controller.timeline.read import read_timeline
from core.errors import EdbenchError
from core.services.embedded import running_services
from sql.session import Database

_LOOK_SECONDS = 1.0
_OVERLAP_SECONDS = 5.0  # that increments reach back, as the page's do


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCost:
    """Processor seconds of everything a run starts, services included: medians."""

    on_s: float
    off_s: float
    looks: int  # of the viewer, in the last run that had one
    pairs: tuple[tuple[float, float], ...]  # on, off

    @property
    def percent(self) -> float:
        """Recording and live view, of a run without them."""
        return (self.on_s / self.off_s - 1) * 100


def measure(home: BenchHome, corpus: Path, pairs: int = 3, workers: int = 2) -> LiveCost:
    """Pairs of runs over `corpus`, each with the other order, so that a machine that slows down slows both."""
    runs: list[tuple[float, float]] = []
    looks = 0
    for number in range(pairs):
        seconds = {}
        for on in (True, False) if number % 2 == 0 else (False, True):
            seconds[on], seen = _run(home, corpus, workers, on=on)
            looks = seen if on else looks
        runs.append((seconds[True], seconds[False]))
    return LiveCost(
        on_s=statistics.median(on for on, _ in runs),
        off_s=statistics.median(off for _, off in runs),
        looks=looks,
        pairs=tuple(runs),
    )


def _run(home: BenchHome, corpus: Path, workers: int, *, on: bool) -> tuple[float, int]:
    before = _children_s()
    with _viewer(home) if on else contextlib.nullcontext() as looks:
        result = home.discover(corpus, "--workers", str(workers), env={"EDBENCH_OBSERVE": "on" if on else "off"})
    used = _children_s() - before
    home.run("job", "delete", str(result["job_id"]))
    return used, looks.value if looks is not None else 0


def _children_s() -> float:
    """Of all processes below this one that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _viewer(home: BenchHome) -> Iterator[multiprocessing.sharedctypes.Synchronized[int]]:
    """Somebody looks at the run page, once a second, while the block lasts; how often they could."""
    context = multiprocessing.get_context("fork")
    stop, looks = context.Event(), context.Value("i", 0)
    process = context.Process(target=_look_on, args=(home.directory / "scratch", stop, looks))
    process.start()
    try:
        yield looks
    finally:
        stop.set()
        process.join()


def _look_on(scratch: Path, stop: Event, looks: multiprocessing.sharedctypes.Synchronized[int]) -> None:
    since: float | None = None
    database: Database | None = None
    while not stop.wait(_LOOK_SECONDS - time.time() % _LOOK_SECONDS):
        services = running_services(scratch)
        if services is None:
            continue
        database = database or Database("db1", services.server_of("db1").url("db1"))
        # Before the schema and the job are there, and once the services stop, there is nothing to see.
        with contextlib.suppress(EdbenchError, SQLAlchemyError):
            timeline = read_timeline([find_job([database], "last")], since=since).to_json()
            since = max(0.0, float(timeline["now_s"]) - _OVERLAP_SECONDS) or None
            looks.value += 1
