"""Runs a job until it is at rest: starts its own workers if it should, follows the job, and leaves it resumable
whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from controller.cluster.embedded import EmbeddedCluster
from controller.cluster.embedded import together as best_together
from controller.databases import JobHandle, open_databases
from controller.jobs.groups import combined
from controller.jobs.jobs import pause_job, settle_job
from controller.jobs.progress import Pace, Snapshot
from controller.jobs.results import wait_for_frames
from core.clock import Clock
from core.errors import DatabaseFault, RunFailed, SystemFault, UsageError
from core.extensions import installed_version
from core.records import JobState
from core.services import check_kept
from core.settings import Settings
from monitoring.aggregate import rate_now
from sql import jobs as ledger_jobs
from sql import states
from sql.session import Database
from sql.workers import WORKERS, WorkerRow


def refuse_other_versions(workers: Iterable[WorkerRow], own: str) -> None:
    """Raise UsageError, which names the worker, if a live worker is of another version than `own`."""
    for worker in workers:
        if worker.live and worker.version != own:
            raise UsageError(
                f"worker {worker.name} on {worker.host} is edbench {worker.version}, this command is {own};"
                " give all hosts one version (containers: `make up` rebuilds the image)"
            )


LONELY_SECONDS = 15.0
_ALL_UP_SECONDS, _LOOK_SECONDS = 60.0, 0.1
_MANY = 3  # workers; two are up before the queue manager is
_LAST_SETTLE_SECONDS = 3.0  # the workers are gone by then and have given their tasks back


class Tended(Protocol):
    """A set of processes that is kept running."""

    def check(self) -> None:
        """Raise SystemFault with the reason if a process of it will not stay up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The job's state and its circumstances when the wait for it ended."""

    state: JobState
    reason: str | None
    interrupted: bool  # by Ctrl-C or SIGTERM
    calls_complete: bool  # its call records were all stored in time


def run_all_to_rest(
    handles: Sequence[JobHandle],
    settings: Settings,
    workers: AbstractContextManager[Tended] | None,
    clock: Clock,
    show: Callable[[Snapshot, float], None],
    say: Callable[[str], None],
    every: float = 0.0,
) -> list[Outcome]:
    """Follow simultaneous jobs, with workers, until each is over, paused or suspended; return the outcome of each.

    `settings` have the attached services. `workers` is entered for as long as they are needed, such as `processes`;
    None: others run them. `show` gets one snapshot for all jobs, at least `every` seconds after the one before. The
    first interruption pauses the jobs. Raises SystemFault (the jobs are left suspended or paused) if workers will not
    stay up or the database is gone."""
    snapshots: list[Snapshot] = []
    interrupted = False
    complete = True
    own: AbstractContextManager[Tended | None] = nullcontext() if workers is None else workers
    try:
        with own as tended:
            try:
                checks = _checks(handles, settings, tended, clock, say)
                for snapshots in wait_all(handles, clock, check=checks, say=say, every=every):
                    show(combined(snapshots), clock.monotonic_ns() / 1e9)
                over = [h for h, snapshot in zip(handles, snapshots, strict=True) if snapshot.state.over]
                complete = sum(wait_for_frames(handle, clock) for handle in over) == len(over)
            except KeyboardInterrupt:
                interrupted = True
                what = "the job" if len(handles) == 1 else "the jobs"
                say(f"interrupted: pausing {what}; press Ctrl-C again to exit at once without pausing")
                pause_all(handles, clock)
    except KeyboardInterrupt:
        if interrupted:
            raise  # the second time: leave it as it is, `resume` takes it over all the same
        interrupted = True  # while the workers were starting or leaving
        pause_all(handles, clock, _LAST_SETTLE_SECONDS)
    except DatabaseFault:
        raise
    except SystemFault as fault:
        if not interrupted:
            for handle in handles:
                _suspend(handle, str(fault))
            raise
        say(f"while the workers disconnected: {fault}")  # it is not why the job ended
    outcomes = []
    for number, handle in enumerate(handles):
        state = settle_job(handle, clock, _LAST_SETTLE_SECONDS)
        reason = snapshots[number].reason if snapshots and snapshots[number].state is state else None
        outcomes.append(Outcome(state=state, reason=reason, interrupted=interrupted, calls_complete=complete))
    return outcomes


def crew_of(database: Database) -> tuple[int, int]:
    """Return the number of live workers, and the slots of each (the most that any has), for jobs whose workers others
    run.

    Raises UsageError if one of them is of another version."""
    live = [worker for worker in database.ask(WORKERS.list_workers) if worker.live]
    refuse_other_versions(live, installed_version())
    return len(live), max((worker.slots for worker in live), default=0)


@contextmanager
def processes(settings: Settings, workers: int, slots: int, env: Mapping[str, str]) -> Iterator[Tended]:
    """Run so many workers as children of this process. With _MANY or more, nothing is dispatched until all are up: the
    first would start alone. Raises UsageError."""
    together = best_together(workers, env)
    with EmbeddedCluster(settings, workers, slots, env=env, together=together, managed=not together) as cluster:
        if together:
            if workers >= _MANY:
                _wait_for_all(settings, workers * slots, cluster)
            cluster.manage()
        yield cluster


def _wait_for_all(settings: Settings, slots: int, cluster: EmbeddedCluster) -> None:
    """Wait until every slot's worker has registered with every database, or the time is over. Raises SystemFault."""
    until = time.monotonic() + _ALL_UP_SECONDS
    databases = open_databases(settings)
    try:
        while time.monotonic() < until:
            cluster.check()
            if all(slots_of(database) >= slots for database in databases):
                return
            time.sleep(_LOOK_SECONDS)
    finally:
        for database in databases:
            database.dispose()


def slots_of(database: Database) -> int:
    """Return the slots of all live workers. Raises DatabaseFault."""
    return database.ask(WORKERS.live_slots)


def _checks(
    handles: Sequence[JobHandle], settings: Settings, tended: Tended | None, clock: Clock, say: Callable[[str], None]
) -> Callable[[], None]:
    """Return the check of our workers and embedded services; if others run the workers, one that reports once that
    there are none."""
    if tended is not None:

        def ours() -> None:
            check_kept(settings)
            tended.check()

        return ours
    ask_at = clock.monotonic_ns() + int(LONELY_SECONDS * 1e9)
    asked = False

    def lonely() -> None:
        nonlocal asked
        if asked or clock.monotonic_ns() < ask_at:
            return
        asked = True
        for handle in handles:
            slots = handle.database.ask(WORKERS.live_slots)
            if slots:
                continue
            name = handle.database.name
            say(f"no worker is connected to database {name}: start `python -m queue_manager` and `edbench worker`")

    return lonely


def _suspend(handle: JobHandle, reason: str) -> None:
    """Suspend the job, so that it can be resumed. If that fails, its leases expire and `resume` takes it over all the
    same."""
    try:
        with handle.database.transaction(durable=True) as conn:
            states.suspend(conn, handle.id, reason)
    except DatabaseFault as fault:
        raise DatabaseFault(f"{reason}; also, the job could not be suspended: {fault}") from fault


def judge(outcome: Outcome, job: str, violations: int) -> str | None:
    """Return a line for a job that another command paused; raise RunFailed for one that failed or that another command
    cancelled.

    A job that completed, with exceptions or without, is good if its counts add up."""
    if outcome.state is JobState.SUSPENDED:
        raise RunFailed(
            f"job {job} is suspended: {outcome.reason}; fix that, then continue with `edbench job resume {job}`"
        )
    if outcome.state is JobState.PAUSED:
        return f"job {job} was paused by another command; continue with `edbench job resume {job}`"
    if outcome.state is JobState.CANCELLED:
        raise RunFailed(
            f"job {job} was cancelled by another command; remove what it wrote with `edbench job delete {job}`"
        )
    if not outcome.state.over:
        raise RunFailed(f"job {job} is still {outcome.state}; see `edbench job show {job}`")
    if violations:
        raise RunFailed(f"job {job}: the counts of {violations} containers do not add up; see `edbench job show {job}`")
    return None


LOOK_SECONDS = 0.5
LOST_SECONDS = 120.0  # a database that is unreachable for longer ends the wait, not the job
PAUSE_SECONDS = 20.0

AT_REST = frozenset(state for state in JobState if state.over) | {JobState.PAUSED, JobState.SUSPENDED}


class Watch:
    """Reads the progress of one job, and reports when its database becomes unreachable or answers again."""

    def __init__(self, handle: JobHandle, say: Callable[[str], None], every: float) -> None:
        self._handle = handle
        self._say = say
        self._every, self._due = every, 0.0
        self._pace = Pace(handle.job.options)
        self._lost_at: float | None = None
        self.latest: Snapshot | None = None

    @property
    def at_rest(self) -> bool:
        """Whether the job is over, paused or suspended; False while its database is unreachable."""
        return self.latest is not None and self._lost_at is None and self.latest.state in AT_REST

    def look(self, at: float) -> bool:
        """Return whether there is a new snapshot at monotonic second `at`: one is due, or the job's state has changed.
        Raises DatabaseFault if the database stays unreachable, UsageError if the job was deleted."""
        try:
            if at < self._due and self._lost_at is None and self.latest is not None and not self._changed(self.latest):
                return False
            self.latest = look(self._handle, self._pace, at)
            self._due = at + self._every
        except DatabaseFault as fault:
            if self._lost_at is None:
                self._lost_at = at
                self._say(f"{fault}; waiting up to {LOST_SECONDS:.0f} s for it")
            if at - self._lost_at > LOST_SECONDS:
                raise
            return False
        if self._lost_at is not None:
            self._say(f"the database answers again after {at - self._lost_at:.0f} s")
            self._lost_at = None
        return True

    def _changed(self, before: Snapshot) -> bool:
        return self._handle.database.ask(ledger_jobs.JOBS.job_state, job=self._handle.id) is not before.state


def wait_all(
    handles: Sequence[JobHandle],
    clock: Clock,
    *,
    check: Callable[[], None],
    say: Callable[[str], None],
    every: float = 0.0,
) -> Iterator[list[Snapshot]]:
    """Yield a snapshot of each job, in order, until all are over, paused or suspended; the last ones have those states.

    The states are read every LOOK_SECONDS; a snapshot costs more, and is at least `every` seconds old when the next is
    made. `check` is called each time and may raise (the cluster's does); `say` gets a line when the database becomes
    unreachable or answers again. Raises DatabaseFault if it stays unreachable, UsageError if a job was deleted."""
    watches = [Watch(handle, say, every) for handle in handles]
    while True:
        check()
        at = clock.monotonic_ns() / 1e9
        new = [watch.look(at) for watch in watches if not watch.at_rest]
        known = [watch.latest for watch in watches if watch.latest is not None]
        if any(new) and len(known) == len(watches):
            yield known
        if all(watch.at_rest for watch in watches):
            return
        clock.sleep(LOOK_SECONDS)


def look(handle: JobHandle, pace: Pace, at: float) -> Snapshot:
    """Return a snapshot of one moment. Raises DatabaseFault, UsageError if the job is gone."""
    with handle.database.transaction() as conn:
        progress = ledger_jobs.progress(conn, handle.id)
        return pace.snapshot(progress, rate_now(conn, handle.id), at)


def pause_all(handles: Sequence[JobHandle], clock: Clock, seconds: float = PAUSE_SECONDS) -> list[JobState]:
    """Request a pause of all jobs, and wait until they are paused or the time is over; return their states then.
    A job that came to rest meanwhile keeps its state. Raises DatabaseFault."""
    asked = [ask_to_pause(handle) for handle in handles]
    deadline = clock.monotonic_ns() + int(seconds * 1e9)
    return [
        settle_job(handle, clock, max(0.0, (deadline - clock.monotonic_ns()) / 1e9))
        if state is JobState.PAUSING
        else state
        for handle, state in zip(handles, asked, strict=True)
    ]


def ask_to_pause(handle: JobHandle) -> JobState:
    """Request a pause of the job, if its state permits; return the state afterwards. Raises DatabaseFault."""
    try:
        return pause_job(handle)
    except UsageError:
        return handle.database.ask(ledger_jobs.get_job, handle.id).state  # over, cancelling or suspended
