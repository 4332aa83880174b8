"""Follows a job until it comes to rest, through lost databases and towards a clean pause."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller.databases import JobHandle
from controller.jobs import settle_job
from controller.progress import Pace, Snapshot
from core.clock import Clock
from core.errors import DatabaseFault, UsageError
from core.records import JobState
from monitoring.aggregate import rate_now
from sql import jobs as ledger_jobs

LOOK_SECONDS = 0.5
LOST_SECONDS = 120.0  # a database that is away for longer than this ends the waiting, not the job
PAUSE_SECONDS = 20.0

AT_REST = frozenset(state for state in JobState if state.over) | {JobState.PAUSED, JobState.SUSPENDED}


def wait(
    handle: JobHandle,
    clock: Clock,
    *,
    check: Callable[[], None],
    say: Callable[[str], None],
    look_seconds: float = LOOK_SECONDS,
) -> Iterator[Snapshot]:
    """A snapshot every `look_seconds` until the job is over, paused or suspended; the last one says which.

    `check` is called at each look and may raise (the cluster's); `say` gets a line when the database went away or
    came back. Raises DatabaseFault when it stays away, UsageError when the job was deleted.
    """
    pace = Pace(single_pass=handle.job.options.single_pass)
    lost_at: float | None = None
    while True:
        check()
        at = clock.monotonic_ns() / 1e9
        try:
            snapshot = look(handle, pace, at)
        except DatabaseFault as fault:
            if lost_at is None:
                lost_at = at
                say(f"{fault}; waiting up to {LOST_SECONDS:.0f} s for it")
            if at - lost_at > LOST_SECONDS:
                raise
            clock.sleep(look_seconds)
            continue
        if lost_at is not None:
            say(f"the database is back after {at - lost_at:.0f} s")
            lost_at = None
        yield snapshot
        if snapshot.state in AT_REST:
            return
        clock.sleep(look_seconds)


def look(handle: JobHandle, pace: Pace, at: float) -> Snapshot:
    """One snapshot, of one moment. Raises DatabaseFault, UsageError when the job is gone."""
    with handle.database.transaction() as conn:
        progress = ledger_jobs.progress(conn, handle.id)
        return pace.snapshot(progress, rate_now(conn, handle.id).calls_per_second, at)


def pause_and_wait(handle: JobHandle, clock: Clock, seconds: float = PAUSE_SECONDS) -> JobState:
    """Ask the job to pause and wait until it has, or until the time is over; its state then.

    A job that came to rest meanwhile keeps its state. Raises DatabaseFault.
    """
    with handle.database.transaction(durable=True) as conn:
        try:
            ledger_jobs.request_pause(conn, handle.id)
        except UsageError:
            return ledger_jobs.get_job(conn, handle.id).state  # over, cancelling or suspended
    return settle_job(handle, clock, seconds)
