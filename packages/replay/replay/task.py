"""Phase replay: a slot is one client. It prepares its part of the files, waits for the others, and makes its calls.

A replay is not gone on with after a client died: the second claim of a task finds that the first one had taken a
client, and suspends the job with one line. Every client looks after the job about once a second, and ends when it does
not run any more.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.errors import DatabaseFault, RunFailed, StorageFault, SystemFault, TaskLost, UsageError
from core.places import replayed_trace_location
from core.records import JobState, ReplayChoice
from monitoring.block import boot_id
from replay.client import ReplayStopped, run_client
from replay.host import ReplayHost, replay_host, target_of
from replay.tree import drop_own, prepare_tree
from sql import ledger, replay
from sql.findings import TaskResult
from sql.replay import ReplayFindings
from worker.phases.task import TaskWork
from worker.processes import RunQueueMeter

LOOK_SECONDS = 1.0
_BARRIER_SECONDS = 0.1
_NOT_HERE_SECONDS = 0.25
_CAUSE_SECONDS = 5.0  # for the client that broke first to say why, before those that it left behind do
_ASKS = 5  # the quickest answer is the best measure of the time on the database's clock


def run(work: TaskWork) -> TaskResult:
    """Play one client. Raises SystemFault when it cannot, or when the replay was ended; TaskLost on a host that has
    no client left to play."""
    client = _take_client(work)
    with JobWatch(work) as watch, replay_host(work.context.settings.scratch, work.job.id) as host:
        try:
            result = _play(work, watch, host, client)
        except ReplayStopped as error:
            watch.wait_for_end(_CAUSE_SECONDS)
            raise SystemFault(str(error)) from error
        except (UsageError, RunFailed) as error:
            raise SystemFault(f"client {client} of the replay: {error}") from error
    return TaskResult(own=ReplayFindings(client=client, result=result))


def _take_client(work: TaskWork) -> int:
    here = replay.host_key(boot_id(), socket.gethostname())
    context, claimed = work.context, work.claimed
    with work.database.transaction(durable=True) as conn:
        client = replay.take_client(conn, claimed, context.worker, context.slot, here)
        if client is not None:
            return client
        ledger.release(conn, claimed.id, claimed.token, failed=False)
    context.clock.sleep(_NOT_HERE_SECONDS)  # a slot of the right host may be quicker next time
    raise TaskLost(f"task {claimed.id}: no client of the replay is left for this host; another host gets the task")


def _play(work: TaskWork, watch: JobWatch, host: ReplayHost, client: int) -> dict[str, Any]:
    """From the program to the result; what `replay.job` reads."""
    job, choice = work.job.id, work.job.options.of(ReplayChoice)
    trace = os.path.join(work.root, replayed_trace_location(job))
    program = host.program(Path(os.fsdecode(trace)), choice, watch.look)
    target = target_of(job, choice)
    prepared = prepare_tree(program, target, client=client, between=watch.look)
    # An emulated filer has no cache beneath it: its misses are computed.
    dropped = None if work.job.options.filer.digest else drop_own(program, target, client=client, between=watch.look)
    with work.database.transaction(durable=True) as conn:
        replay.ready(conn, work.claimed)
    start = _wait_for_start(work, watch)
    start_ns = _by_own_clock(work, start)
    waits = RunQueueMeter()
    waited = waits.look([os.getpid()])
    result = run_client(
        program,
        target,
        client=client,
        progress=host.progress(program.plan.seat(client).clone.number),
        start_ns=start_ns,
        recorder=work.context.recorder,
        station=work.context.filer,
        between=watch.look,
    )
    return {
        "found": result.to_json(),
        "start": start,
        "run_queue_s": waits.look([os.getpid()]) - waited,
        "files": prepared.files,
        "bytes": prepared.bytes,
        "dropped": None if dropped is None else dataclasses.asdict(dropped),
    }


def _wait_for_start(work: TaskWork, watch: JobWatch) -> float:
    """Until every client is ready; when all start, by the database's clock."""
    while True:
        watch.look()
        with work.database.transaction() as conn:
            status = replay.replay_status(conn, work.job.id)
        if status is not None and status.start is not None:
            return status.start
        work.context.clock.sleep(_BARRIER_SECONDS)


def _by_own_clock(work: TaskWork, start: float) -> int:
    """A moment of the database's clock as monotonic nanoseconds here; off by less than half an answer's time."""
    clock = work.context.clock
    readings = []
    for _ in range(_ASKS):
        asked = clock.monotonic_ns()
        with work.database.transaction() as conn:
            status = replay.replay_status(conn, work.job.id)
        answered = clock.monotonic_ns()
        if status is None:
            raise StorageFault(f"job {work.job.id} was deleted while it was replayed")
        readings.append((answered - asked, (asked + answered) // 2, status.now))
    _, at, now = min(readings)
    return at + round((start - now) * 1e9)


class JobWatch:
    """Asks the database every second, in a thread of its own so that no call waits for the answer, whether the job
    still runs."""

    def __init__(self, work: TaskWork) -> None:
        self._work = work
        self._over = threading.Event()  # we are
        self._ended = threading.Event()  # the job does not run any more
        self._thread = threading.Thread(target=self._watch, name="replay", daemon=True)

    def look(self) -> None:
        """Raises SystemFault once the job does not run any more."""
        if self._ended.is_set():
            raise SystemFault("the replay was stopped, and this client with it")

    def wait_for_end(self, seconds: float) -> None:
        """Until the job does not run any more, or the time is over."""
        self._ended.wait(seconds)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            try:
                with self._work.database.transaction() as conn:
                    status = replay.replay_status(conn, self._work.job.id)
            except DatabaseFault:
                continue  # away for a moment; the calls under test do not need it
            if status is None or status.state is not JobState.RUNNING:
                self._ended.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
