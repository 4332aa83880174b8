"""Follows a job to rest as a patient person does: asks again while the database is away, resumes it once."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from controller.databases import JobHandle, Jobs
from controller.jobs.create import resume_all
from core.errors import DatabaseFault, RunFailed, UsageError
from core.records import JobState
from sql.interface import QUERIES
from sql.jobs import get_job

POLL_SECONDS = 0.03
STRAGGLER_SECONDS = 10.0  # a person who resumes a suspended job does so later than this
_AT_REST = (JobState.PAUSED, JobState.SUSPENDED)
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Rest:
    """How following it ended."""

    state: JobState
    reason: str = ""
    resumes: int = 0


def patiently(ask: Callable[[], T], deadline: float) -> T:
    """What `ask` gives, asked again while the database is away; raises the last DatabaseFault at the deadline."""
    while True:
        try:
            return ask()
        except DatabaseFault:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def state_of(handle: JobHandle) -> tuple[JobState, str]:
    """Its state now, and why. Raises DatabaseFault."""
    with handle.database.transaction() as conn:
        job = get_job(conn, handle.id)
    return job.state, job.reason or ""


def to_rest(jobs: Jobs, deadline: float, *, mend: Callable[[], None], until: frozenset[JobState] = frozenset()) -> Rest:
    """Until every job is over (or in one of the states `until`); one that is suspended is resumed once, when all
    faults are mended. Raises RunFailed when it is suspended again, paused, or not at rest at the deadline."""
    resumes, why = 0, ""
    while True:
        states = [patiently(lambda h=handle: state_of(h), deadline) for handle in jobs.each]  # type: ignore[misc]
        if all(state.over or state in until for state, _ in states):
            return Rest(state=states[0][0], reason=why, resumes=resumes)
        halted = [(state, reason) for state, reason in states if state in _AT_REST and state not in until]
        if halted and all(state.over or state in _AT_REST for state, _ in states):
            if resumes:
                raise RunFailed(f"it is {halted[0][0]} again after one resume: {halted[0][1]} (before: {why})")
            resumes, why = 1, f"{halted[0][0]}: {halted[0][1]}"
            mend()
            _let_slots_finish(jobs, deadline)
            patiently(lambda: _resume(jobs), deadline)
        if time.monotonic() > deadline:
            raise RunFailed(f"not at rest in time: {', '.join(state for state, _ in states)} {why}")
        time.sleep(POLL_SECONDS)


def _let_slots_finish(jobs: Jobs, deadline: float) -> None:
    """What still runs has met the same trouble: its word would suspend the job again right after the resume."""
    until = min(deadline, time.monotonic() + STRAGGLER_SECONDS)
    while any(patiently(lambda h=handle: _runs(h), deadline) for handle in jobs.each):  # type: ignore[misc]
        if time.monotonic() > until:
            return
        time.sleep(POLL_SECONDS)


def _runs(handle: JobHandle) -> bool:
    with handle.database.transaction() as conn:
        return bool(QUERIES["has_out"].run(conn, job=handle.id).scalar_one())


def _resume(jobs: Jobs) -> None:
    """A resume whose commit was lost to the asker has been done all the same."""
    try:
        resume_all(jobs, attach=False)
    except UsageError:
        if any(state_of(handle)[0] in _AT_REST for handle in jobs.each):
            raise
