"""Pausing and cancelling jobs and groups alike."""

from __future__ import annotations

from collections.abc import Callable

from controller.databases import JobHandle, Jobs
from controller.jobs.groups.progress import group_state
from core.errors import UsageError
from core.records import JobState
from sql.jobs import get_job


def ask_all(jobs: Jobs, ask: Callable[[JobHandle], JobState]) -> JobState:
    """Ask the jobs to end; the state of all together afterwards. Of a group, jobs that cannot be asked any more keep
    their state; raises UsageError when none can, DatabaseFault."""
    refused: UsageError | None = None
    states: list[JobState] = []
    asked = 0
    for handle in jobs.each:
        try:
            states.append(ask(handle))
            asked += 1
        except UsageError as error:
            refused = error
            with handle.database.transaction() as conn:
                states.append(get_job(conn, handle.id).state)
    if refused is not None and not asked:
        raise refused
    return group_state(states)
