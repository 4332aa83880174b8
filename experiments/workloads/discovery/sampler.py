"""Samples taken while a run lasts: databases, task queue, workers and the processes that serve them, once a second; and
the action taken while its jobs are held at a barrier."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from controller.databases import JobHandle
from controller.jobs.run import AT_REST
from core.clock import offset_of
from core.errors import DatabaseFault
from core.records import JobState
from experiments.workloads.discovery.observed import Samples
from experiments.workloads.discovery.site import Deployment
from sql.jobs import get_job
from sql.runs import RUNS
from sql.session import Database
from sql.states import request_resume


def clock_offset(database: Database) -> float:
    """Return the database's clock less this host's, in seconds. Raises DatabaseFault."""
    with database.transaction() as conn:
        return offset_of(lambda: RUNS.clock_now(conn))[0]


class Hold:
    """Calls `meanwhile` once, when every job is held; then releases the jobs, even if it failed.

    Where one of them never comes to the barrier, because it is over, paused or suspended, the others continue without
    it: that run is not counted, and no process may wait for ever."""

    def __init__(self, jobs: Sequence[tuple[Database, uuid.UUID]], meanwhile: Callable[[], None]) -> None:
        self._jobs = jobs
        self._meanwhile: Callable[[], None] | None = meanwhile
        self._failure: Exception | None = None
        self.over = False  # they were released

    def look(self) -> None:
        """Do what is due; retry at the next call if a database does not answer. Raises what `meanwhile` raised, once
        the jobs are released."""
        try:
            self._look()
        except DatabaseFault:
            return
        if self.over and self._failure is not None:
            raise self._failure

    def _look(self) -> None:
        states = [self._state_of(database, job) for database, job in self._jobs]
        if JobState.HELD not in states or not all(state is JobState.HELD or state in AT_REST for state in states):
            return
        call, self._meanwhile = self._meanwhile, None
        if call is not None and set(states) == {JobState.HELD}:
            try:
                call()
            except Exception as failure:  # noqa: BLE001 — raised by `look` when nothing is held any more
                self._failure = failure
        self._let_go()
        self.over = True

    def _state_of(self, database: Database, job: uuid.UUID) -> JobState:
        with database.transaction() as conn:
            return get_job(conn, job).state

    def _let_go(self) -> None:
        """Release the jobs at the same moment: the commits follow each other directly."""
        with contextlib.ExitStack() as commits:
            for database, job in self._jobs:
                conn = commits.enter_context(database.transaction(durable=True))
                if get_job(conn, job).state is JobState.HELD:
                    request_resume(conn, job)


SAMPLE_SECONDS = 1.0
_HELD_SECONDS = 0.05  # whether all jobs are held is looked for this often, if a caller waits for it


class Sampler:
    """A thread that samples until the block ends.

    `at_index` is called once, in the thread, while every job is held at the barrier into the index phase."""

    def __init__(
        self,
        handles: Sequence[JobHandle],
        meter: Deployment,
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
        hold = self._hold
        patience = SAMPLE_SECONDS if hold is None else _HELD_SECONDS
        while not self._stop.wait(min(max(0.0, due - time.monotonic()), patience)):
            if hold is not None and not hold.over:
                hold.look()
                patience = SAMPLE_SECONDS if hold.over else _HELD_SECONDS
            if time.monotonic() >= due:
                due = max(due + SAMPLE_SECONDS, time.monotonic())
                self._look()
        self._look()

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
                with database.transaction() as conn:
                    row = RUNS.queue_now(conn, job=job)
                depth = [n + more for n, more in zip(depth, (row.pending, row.dispatched, row.running), strict=True)]
        except DatabaseFault:
            self.samples.missed += 1
            return
        self.samples.queue.append((time.time(), depth[0], depth[1], depth[2]))
