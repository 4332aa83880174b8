"""States, phases and clocks of a job; every change is made under the lock on the job's row.

elapsed = finished_at − first_claim_at − stopped_seconds, on the database's clock; stopped_seconds are pauses that an
operator asked for. A suspension is charged: an outage of the system under test is a part of what it takes.

When a phase begins, its tasks are cut finer if there are too few of them for the live slots, or joined. Batches are cut
for large jobs, where every task that publishes index segments costs a writer of its own and files that a search opens
(decisions 14, 50). A small job on a large crew would leave slots without work, or all waiting for one. The number of
tasks is known only when the phase before is over."""

from __future__ import annotations

import heapq
import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

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
from sql.connection import Connection
from sql.interface import QUERIES, implemented
from sql.workers import WORKERS

TASKS_A_SLOT = 3  # a phase that begins with fewer is cut finer …
WORTH = 8_000_000  # … into more than one a slot only if each has this weight: a task costs 60 ms of CPU time by itself
ITEMS, FILES = "items", "files"
LEAST = {ITEMS: 16, FILES: 16, FINALISE_LIST: 1}  # by the list in a payload: entries that a part has at least
_MOST_JOINED = 100_000  # tasks whose payloads are read into memory


def tasks_wanted(slots: int, weight: int) -> int:
    """Return the number of tasks into which a phase of this weight is cut, if it has enough entries: one a slot, so that
    none is idle; more, so that the slots end together, if that is worth the cost of a task."""
    return slots * max(1, min(TASKS_A_SLOT, weight // (slots * WORTH)))


def recut(conn: Connection, job: uuid.UUID, phase: Phase, at_a_time: int | None = None) -> None:
    """Divide pending tasks of the phase that has just begun, the heaviest most; entries are dealt out in turn, so that
    the parts are about equally heavy. Nothing is done if there are enough for the live slots, or for `at_a_time` tasks
    if no more may be out."""
    slots = WORKERS.live_slots(conn)
    slots = slots if at_a_time is None else min(slots, at_a_time)
    most = TASKS_A_SLOT * slots
    rows = QUERIES["pending_payloads"].run(conn, job=job, phase=phase.value, limit=most).all() if most > 1 else []
    if not rows or len(rows) >= most:
        return
    total = sum(row.weight for row in rows) or 1
    wanted = tasks_wanted(slots, total)
    for row in rows:
        parts = _parts(row.payload, round(wanted * row.weight / total))
        if len(parts) == 1:
            continue
        weight = row.weight // len(parts)
        QUERIES["recut_task"].run(conn, task=row.id, weight=weight, payload=json.dumps(parts[0]))
        more = [NewTask(phase=phase, weight=weight, payload=part) for part in parts[1:]]
        bulk.insert_tasks(conn, job, more, bulk.Origin(row.origin, row.origin_token))


def join(conn: Connection, job: uuid.UUID, phase: Phase, most: int) -> None:
    """Join pending tasks of the phase that has just begun until there are at most so many, about equally heavy.

    Only items of one parser set are joined, so that it is known for each item: there are at least as many tasks as
    sets."""
    rows = QUERIES["pending_payloads"].run(conn, job=job, phase=phase.value, limit=_MOST_JOINED).all()
    rows = sorted((row for row in rows if "items" in row.payload), key=lambda row: -row.weight)
    if len(rows) <= most:
        return
    total = sum(row.weight for row in rows) or 1
    by_parsers: dict[uuid.UUID | None, list[Any]] = {}
    for row in rows:
        by_parsers.setdefault(row.parsers, []).append(row)
    together: list[list[Any]] = []
    for group in by_parsers.values():
        share = most * sum(row.weight for row in group) // total
        together += _dealt(group, max(1, min(share, len(group))))
    for of in together:
        payload: dict[str, Any] = {"items": [item for row in of for item in row.payload["items"]]}
        if notes := {item: note for row in of for item, note in row.payload.get("notes", {}).items()}:
            payload["notes"] = notes
        weight = sum(row.weight for row in of)
        QUERIES["recut_task"].run(conn, task=of[0].id, weight=weight, payload=json.dumps(payload))
    QUERIES["of_several"].run(conn, tasks=[of[0].id for of in together if len({row.origin for row in of}) > 1])
    QUERIES["joined_tasks"].run(conn, tasks=[row.id for of in together for row in of[1:]])


def _dealt(rows: Sequence[Any], many: int) -> list[list[Any]]:
    """Distribute rows, the heaviest first, to so many lots of about equal weight."""
    lots: list[list[Any]] = [[] for _ in range(many)]
    lightest = [(0, number) for number in range(many)]
    for row in rows:
        weight, number = heapq.heappop(lightest)
        lots[number].append(row)
        heapq.heappush(lightest, (weight + row.weight, number))
    return lots


def cut_into(entries: int, wanted: int, least: int) -> int:
    """The number of parts of a task with so many entries, `least` at least in each."""
    return max(1, min(wanted, entries // least))


def _parts(payload: dict[str, Any], wanted: int) -> list[dict[str, Any]]:
    """Cut the payload into at most so many parts; each has all fields other than the list."""
    name = next((name for name in LEAST if name in payload), None)
    if name is None:
        return [payload]
    entries = payload[name]
    if name == FILES:  # by size, so that the large ones are in different parts
        entries = sorted(entries, key=lambda file: -int(file[1]))
    number = cut_into(len(entries), wanted, LEAST[name])
    return [payload | {name: entries[n::number]} for n in range(number)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A job that is not at rest, with the data that the dispatcher needs."""

    job: uuid.UUID
    state: JobState
    phase: Phase
    dispatched: int
    running: int
    pending: int  # of its phase; counted only up to the limit asked for
    most_out: int = 0  # most dispatched tasks of this phase, whatever the window; 0: no limit of its own
    window_factor: int = 0  # tasks for each live slot; 0: the factor of the window
    reserve_slots: int = 0  # slots that jobs of other clients leave free; without a client, jobs of other types
    client: str = ""
    type: str = ""
    priority: Priority = Priority.NORMAL

    def shares_with(self, other: Demand) -> bool:
        """Whether the slots that are reserved for this job are also for the other one."""
        return other.client == self.client if self.client else other.type == self.type


class _States(Protocol):
    def demand(self, conn: Connection, *, limit: int) -> list[Demand]: ...


STATES: _States = implemented(_States)


def _lock(conn: Connection, job: uuid.UUID) -> tuple[JobState, Phase]:
    row = QUERIES["lock_job"].run(conn, job=job).one_or_none()
    if row is None:
        raise UsageError(f"there is no job {job}; see `edbench job list`")
    return JobState(row.state), Phase(row.phase)


def hold_phase(conn: Connection, job: uuid.UUID) -> Phase | None:
    """The job's phase, locked until the transaction's end; None if the job does not exist."""
    phase = QUERIES["hold_phase"].run(conn, job=job).scalar_one_or_none()
    return None if phase is None else Phase(phase)


def suspend(conn: Connection, job: uuid.UUID, reason: str) -> bool:
    """Suspend the job after a fault of the system: dispatch nothing until `resume`; its clocks keep running.

    Returns False if it was not running or pausing (then nothing is changed). Messages on their way claim nothing."""
    state, _ = _lock(conn, job)
    if state not in (JobState.RUNNING, JobState.PAUSING, JobState.HELD):
        return False
    QUERIES["stop_job"].run(conn, job=job, state=JobState.SUSPENDED.value, reason=bulk.storable(reason))
    QUERIES["undispatch_job"].run(conn, job=job)
    return True


def request_pause(conn: Connection, job: uuid.UUID) -> JobState:
    """Stop dispatching; the job is paused once nothing runs. Raises UsageError if it does not run."""
    state, _ = _lock(conn, job)
    if state is JobState.PAUSING:
        return state
    if state not in (JobState.RUNNING, JobState.HELD):
        raise UsageError(f"job {job} is {state}; only a running job can be paused")
    QUERIES["set_state"].run(conn, job=job, state=JobState.PAUSING.value)
    return settle(conn, job)


def request_cancel(conn: Connection, job: uuid.UUID) -> JobState:
    """End the job for good; it is cancelled once nothing runs. Raises UsageError if it is over already."""
    state, _ = _lock(conn, job)
    if state is JobState.CANCELLING:
        return settle(conn, job)
    if state.over:
        raise UsageError(f"job {job} is {state}; there is nothing to cancel")
    QUERIES["set_state"].run(conn, job=job, state=JobState.CANCELLING.value)
    return settle(conn, job)


def request_resume(conn: Connection, job: uuid.UUID) -> JobState:
    """Continue after a pause or once the system is fixed. Raises UsageError if the job's state does not allow it."""
    state, _ = _lock(conn, job)
    if state not in (JobState.PAUSED, JobState.PAUSING, JobState.HELD, JobState.SUSPENDED):
        raise UsageError(f"job {job} is {state}; only a paused, held or suspended job can be resumed")
    QUERIES["undispatch_job"].run(conn, job=job)
    QUERIES["reset_failures"].run(conn, job=job)
    QUERIES["resume_job"].run(conn, job=job)
    QUERIES["notify"].run(conn)
    return JobState.RUNNING


def settle(conn: Connection, job: uuid.UUID) -> JobState:
    """Change pausing to paused and cancelling to cancelled once nothing runs; return the state afterwards.

    Dispatched tasks are pending again at once, and leases that ran out do not count as running."""
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
    """Let the job's type record the end; a job whose package is not installed can still be cancelled."""
    with suppress(PackageMissing):
        types_of(options.of_type).ended(conn, job, options.of_type, state)


def _suspended(conn: Connection, job: uuid.UUID, reason: str) -> JobState:
    QUERIES["stop_job"].run(conn, job=job, state=JobState.SUSPENDED.value, reason=bulk.storable(reason))
    return JobState.SUSPENDED


def advance(conn: Connection, job: uuid.UUID) -> Phase | JobState | None:
    """The barrier: leave the phase if none of its tasks is open; call it in a durable transaction.

    Returns the phase entered (a phase without tasks is entered and left at once), the final state after finalise,
    `suspended` if the job's type refuses to leave the phase or its package is not installed, or None if there is
    nothing to change: a task is open, or the job does not run."""
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
