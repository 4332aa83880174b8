"""Follows a job until it comes to rest, through lost databases and towards a clean pause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from controller.databases import JobHandle
from controller.jobs.jobs import pause_job, settle_job
from controller.jobs.progress import Pace, Snapshot
from core.clock import Clock
from core.errors import DatabaseFault, UsageError
from core.records import JobState
from monitoring.aggregate import rate_now
from sql import jobs as ledger_jobs

LOOK_SECONDS = 0.5
LOST_SECONDS = 120.0  # a database that is away for longer than this ends the waiting, not the job
PAUSE_SECONDS = 20.0

AT_REST = frozenset(state for state in JobState if state.over) | {JobState.PAUSED, JobState.SUSPENDED}


class Watch:
    """Looks at one job, and reports when its database goes away or comes back."""

    def __init__(self, handle: JobHandle, say: Callable[[str], None]) -> None:
        self._handle = handle
        self._say = say
        self._pace = Pace(handle.job.options)
        self._lost_at: float | None = None
        self.latest: Snapshot | None = None

    @property
    def at_rest(self) -> bool:
        """Whether the job is over, paused or suspended; False while its database is away."""
        return self.latest is not None and self._lost_at is None and self.latest.state in AT_REST

    def look(self, at: float) -> bool:
        """Whether there is a new snapshot, at monotonic second `at`. Raises DatabaseFault when the database stays
        away, UsageError when the job was deleted."""
        try:
            self.latest = look(self._handle, self._pace, at)
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


def wait(
    handle: JobHandle,
    clock: Clock,
    *,
    check: Callable[[], None],
    say: Callable[[str], None],
    look_seconds: float = LOOK_SECONDS,
) -> Iterator[Snapshot]:
    """A snapshot every `look_seconds` until the job is over, paused or suspended; the last one has that state.

    `check` is called at each look and may raise (the cluster's); `say` gets a line when the database went away or came
    back. Raises DatabaseFault when it stays away, UsageError when the job was deleted.
    """
    for snapshots in wait_all([handle], clock, check=check, say=say, look_seconds=look_seconds):
        yield snapshots[0]


def wait_all(
    handles: Sequence[JobHandle],
    clock: Clock,
    *,
    check: Callable[[], None],
    say: Callable[[str], None],
    look_seconds: float = LOOK_SECONDS,
) -> Iterator[list[Snapshot]]:
    """The same for several jobs: a snapshot of each, in order, until all are at rest."""
    watches = [Watch(handle, say) for handle in handles]
    while True:
        check()
        at = clock.monotonic_ns() / 1e9
        new = [watch.look(at) for watch in watches if not watch.at_rest]
        known = [watch.latest for watch in watches if watch.latest is not None]
        if any(new) and len(known) == len(watches):
            yield known
        if all(watch.at_rest for watch in watches):
            return
        clock.sleep(look_seconds)


def look(handle: JobHandle, pace: Pace, at: float) -> Snapshot:
    """One snapshot, of one moment. Raises DatabaseFault, UsageError when the job is gone."""
    with handle.database.transaction() as conn:
        progress = ledger_jobs.progress(conn, handle.id)
        return pace.snapshot(progress, rate_now(conn, handle.id).calls_per_second, at)


def pause_all(handles: Sequence[JobHandle], clock: Clock, seconds: float = PAUSE_SECONDS) -> list[JobState]:
    """Ask all to pause, then wait until they have, or until the time is over; their states then.

    A job that came to rest meanwhile keeps its state. Raises DatabaseFault.
    """
    asked = [ask_to_pause(handle) for handle in handles]
    deadline = clock.monotonic_ns() + int(seconds * 1e9)
    return [
        settle_job(handle, clock, max(0.0, (deadline - clock.monotonic_ns()) / 1e9))
        if state is JobState.PAUSING
        else state
        for handle, state in zip(handles, asked, strict=True)
    ]


def ask_to_pause(handle: JobHandle) -> JobState:
    """Ask the job to pause if it can be asked; its state afterwards. Raises DatabaseFault."""
    try:
        return pause_job(handle)
    except UsageError:
        with handle.database.transaction() as conn:
            return ledger_jobs.get_job(conn, handle.id).state  # over, cancelling or suspended
