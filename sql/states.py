"""States and phases of a job, and its clocks: who may change what, always under the lock on the job's row.

elapsed = finished_at − first_claim_at − stopped_seconds, on the database's clock; stopped_seconds are pauses that an
operator asked for. A suspension is charged: an outage of the system under test is a part of what it takes.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import PackageMissing, UsageError
from core.job_types import types_of
from core.records import (
    FINALISE_LIST,
    FINALISE_SHARES,
    JobOptions,
    JobState,
    NewTask,
    Phase,
    Priority,
)
from sql import bulk
from sql.face import QUERIES
from sql.recut import join, recut

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A job that is not at rest, as the dispatcher sees it."""

    job: uuid.UUID
    state: JobState
    phase: Phase
    dispatched: int
    running: int
    pending: int  # of its phase; counted only up to the limit asked for
    most_out: int = 0  # so many may be out in this phase, whatever the window; 0: no limit of its own
    window_factor: int = 0  # so many for each live slot; 0: as the window has it
    reserve_slots: int = 0  # that other jobs leave free: those of other clients, without a client of other types
    client: str = ""
    type: str = ""
    priority: Priority = Priority.NORMAL

    def shares_with(self, other: Demand) -> bool:
        """Whether the slots that are reserved for this job are for the other, too."""
        return other.client == self.client if self.client else other.type == self.type


def demands(conn: Connection, limit: int) -> list[Demand]:
    """Every job that is running, pausing or cancelling, oldest first; pending tasks are counted up to `limit`."""
    return [
        Demand(
            job=row.job,
            state=JobState(row.state),
            phase=Phase(row.phase),
            dispatched=row.dispatched,
            running=row.running,
            pending=row.pending,
            most_out=row.most_out,
            window_factor=row.window_factor,
            reserve_slots=row.reserve_slots,
            client=row.client,
            type=row.type,
            priority=Priority(row.priority),
        )
        for row in QUERIES["demand"].run(conn, limit=limit)
    ]


def _lock(conn: Connection, job: uuid.UUID) -> tuple[JobState, Phase]:
    row = QUERIES["lock_job"].run(conn, job=job).one_or_none()
    if row is None:
        raise UsageError(f"there is no job {job}; see `edbench job list`")
    return JobState(row.state), Phase(row.phase)


def hold_phase(conn: Connection, job: uuid.UUID) -> Phase | None:
    """The job's phase, locked until the transaction's end; None when the job is gone."""
    phase = QUERIES["hold_phase"].run(conn, job=job).scalar_one_or_none()
    return None if phase is None else Phase(phase)


def suspend(conn: Connection, job: uuid.UUID, reason: str) -> bool:
    """Suspend the job after a fault of the system: dispatch nothing more until `resume`; its clocks keep running.

    False when it was not running or pausing (then nothing is changed). Messages on their way claim nothing.
    """
    state, _ = _lock(conn, job)
    if state not in (JobState.RUNNING, JobState.PAUSING, JobState.HELD):
        return False
    QUERIES["stop_job"].run(conn, job=job, state=JobState.SUSPENDED.value, reason=bulk.storable(reason))
    QUERIES["undispatch_job"].run(conn, job=job)
    return True


def request_pause(conn: Connection, job: uuid.UUID) -> JobState:
    """Stop dispatching; paused once nothing runs. Raises UsageError when it does not run."""
    state, _ = _lock(conn, job)
    if state is JobState.PAUSING:
        return state
    if state not in (JobState.RUNNING, JobState.HELD):
        raise UsageError(f"job {job} is {state}; only a running job can be paused")
    QUERIES["set_state"].run(conn, job=job, state=JobState.PAUSING.value)
    return settle(conn, job)


def request_cancel(conn: Connection, job: uuid.UUID) -> JobState:
    """End it for good; cancelled once nothing runs. Raises UsageError when it is over already."""
    state, _ = _lock(conn, job)
    if state is JobState.CANCELLING:
        return settle(conn, job)
    if state.over:
        raise UsageError(f"job {job} is {state}; there is nothing to cancel")
    QUERIES["set_state"].run(conn, job=job, state=JobState.CANCELLING.value)
    return settle(conn, job)


def request_resume(conn: Connection, job: uuid.UUID) -> JobState:
    """Run again after a pause or once the system is fixed. Raises UsageError when the job's state does not allow it."""
    state, _ = _lock(conn, job)
    if state not in (JobState.PAUSED, JobState.PAUSING, JobState.HELD, JobState.SUSPENDED):
        raise UsageError(f"job {job} is {state}; only a paused, held or suspended job can be resumed")
    QUERIES["undispatch_job"].run(conn, job=job)
    QUERIES["reset_failures"].run(conn, job=job)
    QUERIES["resume_job"].run(conn, job=job)
    QUERIES["notify"].run(conn)
    return JobState.RUNNING


def settle(conn: Connection, job: uuid.UUID) -> JobState:
    """pausing → paused and cancelling → cancelled once nothing runs; the state afterwards.

    What was only dispatched goes back to pending at once, and leases that ran out do not count as running.
    """
    state, _ = _lock(conn, job)
    if state not in (JobState.PAUSING, JobState.CANCELLING):
        return state
    QUERIES["undispatch_job"].run(conn, job=job)
    QUERIES["return_expired_of"].run(conn, job=job)
    if QUERIES["has_out"].run(conn, job=job).scalar_one():
        return state
    if state is JobState.PAUSING:
        QUERIES["stop_job"].run(conn, job=job, state=JobState.PAUSED.value, reason=None)
        return JobState.PAUSED
    QUERIES["end_job"].run(conn, job=job, state=JobState.CANCELLED.value)
    _note_ended(conn, job, _options(conn, job), JobState.CANCELLED)
    return JobState.CANCELLED


def _options(conn: Connection, job: uuid.UUID) -> JobOptions:
    return JobOptions.from_json(QUERIES["job_options"].run(conn, job=job).scalar_one())


def _open(conn: Connection, job: uuid.UUID, phase: Phase) -> bool:
    return bool(QUERIES["phase_open"].run(conn, job=job, phase=phase.value).scalar_one())


def _note_ended(conn: Connection, job: uuid.UUID, options: JobOptions, state: JobState) -> None:
    """A job whose package is not installed can be cancelled all the same."""
    with suppress(PackageMissing):
        types_of(options.of_type).ended(conn, job, options.of_type, state)


def _suspended(conn: Connection, job: uuid.UUID, reason: str) -> JobState:
    QUERIES["stop_job"].run(conn, job=job, state=JobState.SUSPENDED.value, reason=bulk.storable(reason))
    return JobState.SUSPENDED


def advance(conn: Connection, job: uuid.UUID) -> Phase | JobState | None:
    """The barrier: leave the phase when none of its tasks is open; call it in a durable transaction.

    Returns the phase entered (a phase without tasks is entered and left at once), the final state after finalise, `suspended`
    where the job's type refuses to leave the phase or its package is not installed, or None when there is nothing to change: a
    task is open, or the job does not run.
    """
    state, phase = _lock(conn, job)
    if state is not JobState.RUNNING or _open(conn, job, phase):
        return None
    options = _options(conn, job)
    try:
        types, phases = types_of(options.of_type), options.phases
    except PackageMissing as error:
        return _suspended(conn, job, str(error))
    while True:
        if (refused := types.leave(conn, job, options.of_type, phase)) is not None:
            return _suspended(conn, job, refused)
        QUERIES["close_phase"].run(conn, job=job, phase=phase.value)
        if phase is Phase.FINALISE:
            final = JobState(QUERIES["final_state"].run(conn, job=job).scalar_one())
            QUERIES["end_job"].run(conn, job=job, state=final.value)
            types.ended(conn, job, options.of_type, final)
            return final
        phase = phases[phases.index(phase) + 1]
        QUERIES["enter_phase"].run(conn, job=job, phase=phase.value)
        QUERIES["reopen_phase"].run(conn, job=job, phase=phase.value)
        if phase is Phase.FINALISE:
            payload = {FINALISE_LIST: [*(types.finalise or FINALISE_SHARES)]}
            bulk.insert_tasks(conn, job, [NewTask(phase=phase, weight=1, payload=payload)])
        if phase is Phase.INDEX and options.index_tasks is not None:
            join(conn, job, phase, options.index_tasks)
        else:
            recut(conn, job, phase, options.at_a_time(phase))
        if phase is options.hold_before:
            QUERIES["stop_job"].run(conn, job=job, state=JobState.HELD.value, reason=None)
            return JobState.HELD
        if _open(conn, job, phase):
            return phase
