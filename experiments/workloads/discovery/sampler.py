"""Samples databases, task queue and worker processes once a second during a run."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self

from controller.databases import JobHandle
from core.errors import DatabaseFault
from experiments.workloads.discovery.hold import Hold
from sql.faces.runs import RUNS
from sql.session import Database

if TYPE_CHECKING:
    from experiments.workloads.discovery.site import Meter

SAMPLE_SECONDS = 1.0
_HELD_SECONDS = 0.05  # whether all jobs are held is looked for this often, if a caller waits for it


@dataclass(slots=True)
class Samples:
    """Samples by time; times are seconds since the epoch, counters are as they were read then."""

    activity: dict[str, list[tuple[float, int, int]]] = field(default_factory=dict)  # database → (at, commits, rows)
    queue: list[tuple[float, int, int, int]] = field(default_factory=list)  # at, pending, dispatched, running
    workers: list[tuple[float, float, float]] = field(default_factory=list)  # at, CPU seconds, run-queue seconds
    host: list[tuple[float, float, float]] = field(default_factory=list)  # at, seconds busy, seconds in all
    serving: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)  # at, CPU seconds of servers by name
    missed: int = 0  # looks that a database did not answer


class Sampler:
    """A thread that samples until the block ends.

    `at_index` is called once, in the thread, while every job is held at the barrier into the index phase.
    """

    def __init__(
        self,
        handles: Sequence[JobHandle],
        meter: Meter,
        *,
        at_index: Callable[[], None] | None = None,
    ) -> None:
        self.samples = Samples()
        self._jobs = [
            (Database(h.database.name, h.database.url, application="edbench-sampler", pool_size=1), h.id)
            for h in handles
        ]
        self._hold = None if at_index is None else Hold(self._jobs, at_index)
        self._meter = meter
        self._failure: Exception | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        for database, _ in self._jobs:
            database.dispose()
        if self._failure is not None and error is None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._sample()
        except Exception as failure:  # noqa: BLE001 — raised again by the thread that leaves the block
            self._failure = failure

    def _sample(self) -> None:
        due = time.monotonic() + SAMPLE_SECONDS
        while not self._stop.wait(min(max(0.0, due - time.monotonic()), self._patience())):
            if self._hold is not None and not self._hold.over:
                self._hold.look()
            if time.monotonic() >= due:
                due = max(due + SAMPLE_SECONDS, time.monotonic())
                self._look()
        self._look()

    def _patience(self) -> float:
        return SAMPLE_SECONDS if self._hold is None or self._hold.over else _HELD_SECONDS

    def _queue_of(self, database: Database, job: uuid.UUID) -> tuple[str, int, int, int]:
        with database.transaction() as conn:
            row = RUNS.queue_now(conn, job=job)
        return row.phase, row.pending, row.dispatched, row.running

    def _look(self) -> None:
        host = self._meter.host()
        if host is not None:
            self.samples.host.append((time.time(), *host))
        self.samples.serving.append((time.time(), self._meter.serving()))
        depth = [0, 0, 0]
        try:
            self.samples.workers.append(self._meter.workers())
            for database, job in self._jobs:
                with database.transaction() as conn:
                    now = RUNS.activity_now(conn)
                self.samples.activity.setdefault(database.name, []).append((now.at, now.commits, now.rows))
                for place, tasks in enumerate(self._queue_of(database, job)[1:]):
                    depth[place] += tasks
        except DatabaseFault:
            self.samples.missed += 1
            return
        self.samples.queue.append((time.time(), depth[0], depth[1], depth[2]))
