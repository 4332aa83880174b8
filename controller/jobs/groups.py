"""Groups of simultaneous jobs: finding them, their state and progress."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Callable, Sequence

from controller.databases import LAST, JobHandle, Jobs, alone, find_job, id_digits, jobs_beginning, newest_jobs
from controller.jobs.progress import Snapshot
from core.errors import UsageError
from core.job_types import JobType
from core.records import PHASES, JobState
from sql import jobs as ledger_jobs
from sql.jobs import JOBS, GroupRow
from sql.session import Database


class OtherType(UsageError):
    """The job exists, and is not a discovery."""


def find_group(databases: Sequence[Database], reference: str) -> Jobs | None:
    """Return the group with this id or beginning of one; None if there is none. Raises UsageError if it is
    ambiguous."""
    if (digits := id_digits(reference)) is None:
        return None
    groups = databases[0].ask(JOBS.find_groups, prefix=digits)
    if len(groups) > 1:
        raise UsageError(f"several groups begin with {reference}; give more digits of the id")
    return load_group(databases, groups[0]) if groups else None


def load_group(databases: Sequence[Database], row: GroupRow) -> Jobs:
    """Return the group with those of its jobs that exist (a deletion may have been cut short). Raises UsageError if a
    database is not among those of this installation."""
    by_name = {database.name: database for database in databases}
    jobs: list[JobHandle] = []
    for member in row.members:
        database = by_name.get(member.database)
        if database is None:
            raise UsageError(
                f"group {row.id} has a job in database {member.database}, which is not one of {', '.join(by_name)};"
                " add it to EDBENCH_DATABASES"
            )
        with database.transaction() as conn, contextlib.suppress(UsageError):
            jobs.append(JobHandle(database, ledger_jobs.get_job(conn, member.job)))
    return Jobs(tuple(jobs), databases[0], row)


def list_groups(databases: Sequence[Database]) -> list[GroupRow]:
    """Return all groups of this installation, newest first."""
    return databases[0].ask(JOBS.list_groups)


def find(databases: Sequence[Database], reference: str) -> Jobs:
    """Return the job or group with this id or unambiguous beginning of one; for `last` the newest job's group if it has
    one, else that job. Raises UsageError."""
    if reference.strip().lower() == LAST:
        newest = newest_jobs(databases, 1)
        group_id = newest[0][1].group_id if newest else None
        group = find_group(databases, group_id.hex) if group_id is not None else None
        return group or alone(find_job(databases, reference))
    group = find_group(databases, reference)
    if group is None:
        return alone(find_job(databases, reference))
    if jobs_beginning(databases, reference):
        raise UsageError(f"a group and a job begin with {reference}; give more digits of the id")
    return group


def find_discovered(databases: Sequence[Database], reference: str) -> Jobs:
    """Return the discovery, job or group, with this id, as `find`; for `last` the newest discovery. Raises OtherType
    for a job of another type, UsageError for a group whose jobs are all deleted."""
    if reference.strip().lower() == LAST:
        newest = (s.job.id for _, s in newest_jobs(databases) if s.job.options.type is JobType.DISCOVERY)
        job = next(newest, None)
        if job is not None:
            (handle,) = find(databases, job.hex).each
            group_id = _group_of(handle)
            return (None if group_id is None else find_group(databases, group_id.hex)) or alone(handle)
    found = find(databases, reference)
    for handle in those_there(found):
        if handle.job.options.type is not JobType.DISCOVERY:
            raise OtherType(f"job {handle.id} is of type {handle.job.options.type} and has no items; give a discovery")
    return found


def those_there(found: Jobs) -> tuple[JobHandle, ...]:
    """Return the jobs, at least one. Raises UsageError for a group whose deletion was cut short after the last of
    them."""
    if not found.each:
        raise UsageError(f"all jobs of group {found.id} were deleted; delete the group too")
    return found.each


def _group_of(handle: JobHandle) -> uuid.UUID | None:
    return handle.database.ask(ledger_jobs.summary, handle.id).group_id


def refresh(selected: Jobs) -> Jobs:
    """Return the jobs as they are now."""
    jobs = []
    for handle in selected.each:
        jobs.append(JobHandle(handle.database, handle.database.ask(ledger_jobs.get_job, handle.id)))
    return dataclasses.replace(selected, each=tuple(jobs))


# The state of a group: the first of these that any of its jobs has.
_STATES = (
    JobState.RUNNING,
    JobState.PAUSING,
    JobState.CANCELLING,
    JobState.SUSPENDED,
    JobState.PAUSED,
    JobState.HELD,
    JobState.DELETING,
    JobState.CANCELLED,
    JobState.COMPLETED_WITH_EXCEPTIONS,
    JobState.COMPLETED,
)


def group_state(states: Sequence[JobState]) -> JobState:
    """Return one state for several jobs: running ones first, then faulty, then ended ones."""
    return min(states, key=_STATES.index)


def combined(snapshots: Sequence[Snapshot]) -> Snapshot:
    """Sum counts and rates over the jobs; shares, phases and times are those of the job that is furthest behind."""
    if len(snapshots) == 1:
        return snapshots[0]
    slowest = min((s for s in snapshots if not s.state.over), key=_how_far, default=snapshots[0])
    elapsed = max(s.elapsed_s for s in snapshots)
    known = [s.items_known for s in snapshots if s.items_known is not None]
    open_ones = [s for s in snapshots if not s.state.over]
    return Snapshot(
        state=group_state([s.state for s in snapshots]),
        phase=slowest.phase,
        reason=next((s.reason for s in snapshots if s.reason), None),
        items_done=sum(s.items_done for s in snapshots),
        items_known=sum(known) if len(known) == len(snapshots) else None,
        share=slowest.share,
        tasks_done=sum(s.tasks_done for s in snapshots),
        tasks_known=sum(s.tasks_known for s in snapshots),
        raw_gb_per_hour=_over_longest(snapshots, lambda s: s.raw_gb_per_hour, elapsed),
        discovered_gb_per_hour=_over_longest(snapshots, lambda s: s.discovered_gb_per_hour, elapsed),
        raw_gb_per_hour_now=sum(s.raw_gb_per_hour_now for s in snapshots if not s.state.over),
        discovered_gb_per_hour_now=sum(s.discovered_gb_per_hour_now for s in snapshots if not s.state.over),
        calls_per_second=sum(s.calls_per_second for s in snapshots),
        exceptions=sum(s.exceptions for s in snapshots),
        elapsed_s=elapsed,
        phase_left_s=_longest([s.phase_left_s for s in open_ones if s.phase is slowest.phase]),
        left_s=_longest([s.left_s for s in open_ones]),
        waiting=tuple(line for s in snapshots for line in s.waiting),
    )


def _how_far(snapshot: Snapshot) -> tuple[int, float]:
    return PHASES.index(snapshot.phase), snapshot.share or 0.0


def _longest(seconds: Sequence[float | None]) -> float | None:
    """Return the longest time; None if one of them is not known."""
    known = [value for value in seconds if value is not None]
    return max(known, default=None) if len(known) == len(seconds) else None


def _over_longest(snapshots: Sequence[Snapshot], rate: Callable[[Snapshot], float], elapsed: float) -> float:
    """Return the bytes of all jobs over the longest job's time, from each job's rate over its own time."""
    return sum(rate(s) * s.elapsed_s for s in snapshots) / elapsed if elapsed > 0 else 0.0
