"""Makes a replay a job: its trace where every worker can read it, its clients, one task for each."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from controller.databases import JobHandle
from controller.jobs.directories import hand_over
from controller.jobs.jobs import job_directory
from controller.labels.surroundings import surroundings_of
from controller.replay.order import ReplayOrder
from core.errors import StorageFault, UsageError
from core.places import replayed_trace_location
from core.records import JobOptions, NewTask, Phase, ReplayChoice
from core.settings import Settings
from core.storage.layer import Storage
from sql import jobs as ledger_jobs
from sql import replay
from sql.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCrew:
    """Who is planned to play it."""

    hosts: Sequence[str]  # of each client
    workers: int
    slots: int  # of each worker


def create_replay(
    database: Database,
    storage: Storage,
    settings: Settings,
    job: uuid.UUID,
    order: ReplayOrder,
    options: JobOptions,
    crew: ReplayCrew,
) -> JobHandle:
    """A running job with a task for each client, in one durable transaction. `options`: with `replay` in them.

    Its source is the first target path: a worker that does not see it says so. Raises StorageFault, DatabaseFault,
    UsageError when the trace cannot be read.
    """
    storage_root = settings.storage
    storage.keep_below(os.fsencode(storage_root), own=True)
    storage.mkdir(job_directory(storage_root, job))
    hand_over(job_directory(storage_root, job), storage_root)
    copy = os.path.join(os.fsencode(storage_root), replayed_trace_location(job))
    try:
        storage.copy_in(os.fspath(order.trace), copy)
    except StorageFault as error:
        raise StorageFault(f"the trace {order.trace} cannot be copied to the storage root: {error}") from error
    hand_over(copy, storage_root)
    target = os.fsencode(order.paths[0])
    try:
        device, inode = storage.root_identity(target)
    except StorageFault as error:
        raise UsageError(f"--path {order.paths[0]}: {error}") from error
    with database.transaction(durable=True) as conn:
        ledger_jobs.create_job(
            conn,
            ledger_jobs.NewJob(
                id=job,
                name=order.name,
                client="",
                project="",
                source=target,
                device=device,
                inode=inode,
                storage=os.path.abspath(os.fsencode(storage_root)),
                options=options,
                custodians=[],
                tasks=[NewTask(phase=Phase.REPLAY, weight=1, payload={})] * options.of(ReplayChoice).clients,
                workers=crew.workers,
                slots=crew.slots,
                surroundings=surroundings_of(settings, target, order.paths[0]).to_json(),
            ),
        )
        replay.add_clients(conn, job, crew.hosts)
    with database.transaction() as conn:
        return JobHandle(database, ledger_jobs.get_job(conn, job))
