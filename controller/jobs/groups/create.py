"""Groups: jobs that run at the same time, one a database, and are handled as one."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Sequence
from pathlib import Path

import msgspec

from controller.databases import JobHandle, Jobs
from controller.jobs.copies import copy_source, remove_copies
from controller.jobs.groups.find import find_group, refresh
from controller.jobs.groups.progress import group_state
from controller.jobs.jobs import create_discovery_job, default_name, delete_job, resume_job
from controller.jobs.plan import DiscoveryPlan, check_plan
from controller.jobs.source import PreparedSource
from controller.jobs.split import split_source
from controller.labels.surroundings import Surroundings
from core.errors import EdbenchError, UsageError
from core.records import GroupKind, JobState
from core.storage.layer import Storage
from sql import groups as rows
from sql import jobs as ledger_jobs
from sql.groups import GroupMember
from sql.session import Database


def create_discovery_group(
    databases: Sequence[Database],
    storage: Storage,
    storage_root: Path,
    source: PreparedSource,
    plan: DiscoveryPlan,
    surroundings: Surroundings | None = None,
) -> Jobs:
    """Jobs over `source`, one a database: all are made, and copies of the source too, before the first may start.

    Raises UsageError for a plan that cannot be, StorageFault, DatabaseFault; nothing is running then.
    """
    check_plan(len(databases), shard=plan.shard, source_copies=plan.source_copies)
    identity = uuid.uuid4()
    called = plan.name or default_name(source)
    jobs: list[JobHandle] = []
    try:
        parts = _parts(databases, plan, storage, storage_root, identity, source)
        for database, part in zip(databases, parts, strict=True):
            one = dataclasses.replace(plan, name=f"{called} ({database.name})")
            around = surroundings
            if around is not None and plan.source_copies > 1:  # copies are on the storage
                around = msgspec.structs.replace(around, source=None)
            job = create_discovery_job(database, storage, storage_root, part, one, group=identity, surroundings=around)
            with database.transaction() as conn:
                jobs.append(JobHandle(database, ledger_jobs.get_job(conn, job)))
        group = _enter(databases[0], plan, identity, called, source, jobs)
    except BaseException:
        for handle in jobs:
            with contextlib.suppress(EdbenchError):  # it is paused and can be deleted by hand
                delete_job(handle, storage, storage_root)
        remove_copies(storage, storage_root, identity)
        raise
    release_group(group)
    return group


def _parts(
    databases: Sequence[Database],
    plan: DiscoveryPlan,
    storage: Storage,
    storage_root: Path,
    group: uuid.UUID,
    source: PreparedSource,
) -> list[PreparedSource]:
    """What each job is over."""
    if plan.shard:
        return split_source(storage, source, len(databases))
    if plan.source_copies == 1:
        return [source] * len(databases)
    return [copy_source(storage, storage_root, group, database.name, source) for database in databases]


def _enter(
    home: Database,
    plan: DiscoveryPlan,
    identity: uuid.UUID,
    name: str,
    source: PreparedSource,
    jobs: Sequence[JobHandle],
) -> Jobs:
    with home.transaction(durable=True) as conn:
        rows.create_group(
            conn,
            id=identity,
            name=name,
            kind=GroupKind.SHARDED if plan.shard else GroupKind.SIMULTANEOUS,
            source=source.path,
            source_copies=plan.source_copies,
            members=[GroupMember(database=handle.database.name, job=handle.id) for handle in jobs],
        )
        (row,) = rows.find_groups(conn, identity.hex)
    return Jobs(tuple(jobs), home, row)


def release_group(group: Jobs) -> None:
    """Have all its paused jobs run from the same moment: the commits come one right after the other."""
    with contextlib.ExitStack() as commits:
        for handle in group.each:
            conn = commits.enter_context(handle.database.transaction(durable=True))
            if ledger_jobs.get_job(conn, handle.id).state in (JobState.PAUSED, JobState.HELD, JobState.SUSPENDED):
                ledger_jobs.request_resume(conn, handle.id)


def resume_all(jobs: Jobs, *, attach: bool) -> JobState:
    """Have a job, or what is not over of a group, run again; its state afterwards. See `resume_job` for `attach`.

    Raises UsageError when nothing of it is in a state for that.
    """
    if jobs.group is None:
        return resume_job(jobs.each[0], attach=attach)
    open_jobs = [handle for handle in refresh(jobs).each if not handle.job.state.over]
    if not open_jobs:
        raise UsageError(f"all jobs of group {jobs.id} have ended; there is nothing to resume")
    return group_state([resume_job(handle, attach=attach) for handle in open_jobs])


def refuse_member(databases: Sequence[Database], jobs: Jobs) -> None:
    """Raises UsageError for a single job of a group: it goes with the others."""
    if jobs.group is not None:
        return
    with jobs.home.transaction() as conn:
        group_id = ledger_jobs.summary(conn, jobs.id).group_id
    if group_id is not None and find_group(databases, group_id.hex) is not None:
        raise UsageError(f"job {jobs.id} belongs to a group; remove all of it with `edbench job delete {group_id}`")


def clean_copies(jobs: Jobs, storage: Storage, storage_root: Path) -> None:
    """Remove the copies of the source, if any, once all jobs are over. Raises StorageFault, DatabaseFault."""
    if jobs.copied and all(handle.job.state.over for handle in refresh(jobs).each):
        remove_copies(storage, storage_root, jobs.id)


def delete_all(jobs: Jobs, storage: Storage, storage_root: Path) -> list[str]:
    """Delete a job with what it wrote; of a group all of them, the copies of the source, and its row: a repeated call
    goes on where the first one stopped. What stays in output directories, because no job wrote it, a line for each. Raises
    UsageError while a job may still change, StorageFault, DatabaseFault."""
    if jobs.group is None:
        return list(filter(None, [delete_job(jobs.each[0], storage, storage_root)]))
    for handle in refresh(jobs).each:
        if not (handle.job.state.over or handle.job.state in (JobState.PAUSED, JobState.SUSPENDED)):
            raise UsageError(f"group {jobs.id} is {handle.job.state}; end it first with `edbench job cancel {jobs.id}`")
    left = [delete_job(handle, storage, storage_root) for handle in jobs.each]
    remove_copies(storage, storage_root, jobs.id)
    with jobs.home.transaction(durable=True) as conn:
        rows.delete_group(conn, jobs.id)
    return list(filter(None, left))
