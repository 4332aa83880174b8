"""A job's life as its owner sees it: create, pause, resume, cancel, delete."""

from __future__ import annotations

import dataclasses
import os
import shlex
import uuid
from collections.abc import Callable
from pathlib import Path

from controller.custody import CANCELLED, CREATED, PAUSED, REQUEUED, RESUMED, last_chain, note, note_end_of_suspension
from controller.databases import JobHandle, Jobs, refuse_experiment
from controller.jobs.directories import hand_over, remove_bank, store_bank, stored_bank
from controller.jobs.groups import group_state, refresh
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import (
    PreparedSource,
    custodians_of,
    first_tasks,
)
from controller.labels.rules import Surroundings, surroundings_of
from core.clock import Clock
from core.errors import EdbenchError, SourceFileError, UsageError
from core.job_types import types_of
from core.names import display_name
from core.passwords import PasswordBank
from core.places import job_location
from core.records import JobState, JobType
from core.settings import Settings
from core.storage.layer import Storage
from sql import deletion, states
from sql import jobs as ledger_jobs
from sql.connection import Connection
from sql.deletion import ended, kin_of, refuse_taken
from sql.figures import FIGURES
from sql.jobs import NewJob, get_job, set_options
from sql.requeue import TAKEN, requeue
from sql.session import Database
from sql.workers import LIVE_SECONDS, WORKERS

SETTLE_SECONDS = 45.0  # longer than a lease, so that those of a killed worker have expired
_POLL_SECONDS = 0.2


def create_discovery_job(
    database: Database,
    storage: Storage,
    storage_root: Path,
    source: PreparedSource,
    plan: DiscoveryPlan,
    *,
    group: uuid.UUID | None = None,
    surroundings: Surroundings | None = None,
) -> uuid.UUID:
    """Create a running job with its custodians and first walk tasks, in one durable transaction; return its id.

    Its folder on the storage root is created first, so that workers can detect an unmounted storage root. A job of a
    `group` is held until the group is released. Raises StorageFault, DatabaseFault."""
    job, options = uuid.uuid4(), dataclasses.replace(plan.options, load_file=source.imported)
    storage.keep_below(os.fsencode(storage_root), own=True)
    storage.mkdir(job_directory(storage_root, job))
    hand_over(job_directory(storage_root, job), storage_root)
    if plan.passwords is not None:
        options = dataclasses.replace(options, passwords=store_bank(storage_root, job, plan.passwords))
    new = NewJob(
        id=job,
        name=plan.name or default_name(source),
        client=plan.client,
        project=plan.project,
        source=source.path,
        device=source.device,
        inode=source.inode,
        storage=os.path.abspath(os.fsencode(storage_root)),
        options=options,
        custodians=custodians_of(source),
        tasks=first_tasks(source),
        workers=plan.workers,
        slots=plan.slots,
        group_id=group,
        surroundings=(surroundings or surroundings_of(Settings(storage=storage_root), source.path)).to_json(),
        held=group is not None,
    )
    with database.transaction(durable=True) as conn:
        ledger_jobs.create_job(conn, new)
        note(conn, job, CREATED, type=options.type, name=new.name, source=display_name(source.path))
    return job


def default_name(source: PreparedSource) -> str:
    """Return the name of a job over this source, if the user gave none."""
    directory = os.path.dirname(source.path) if source.corpus else source.path
    return display_name(os.path.basename(directory) or directory)


def pause_job(handle: JobHandle) -> JobState:
    """Request a pause of the job; return its state, `pausing` while tasks still run. Raises UsageError if it is not
    running."""
    with handle.database.transaction(durable=True) as conn:
        note(conn, handle.id, PAUSED)
        return states.request_pause(conn, handle.id)


def cancel_job(handle: JobHandle) -> JobState:
    """Cancel the job; return its state, `cancelling` while tasks still run. Raises UsageError if it is over."""
    with handle.database.transaction(durable=True) as conn:
        note_end_of_suspension(conn, handle.id, CANCELLED)
        return states.request_cancel(conn, handle.id)


def resume_job(handle: JobHandle, *, attach: bool) -> JobState:
    """Resume the job; return its state afterwards.

    `attach`: the caller brings workers. A job whose state is running while no worker lives (its command was killed) is
    then taken over. Raises UsageError if the job is in no state for that, or an experiment uses the system."""
    refuse_experiment(handle.database)
    with handle.database.transaction(durable=True) as conn:
        state = ledger_jobs.get_job(conn, handle.id).state
        note_end_of_suspension(conn, handle.id, RESUMED)
        if attach and state in (JobState.RUNNING, JobState.CANCELLING):
            if WORKERS.live_slots(conn):
                raise UsageError(
                    f"job {handle.id} is {state} and workers are running it; see `edbench job show {handle.id}`"
                )
            _return_orphans(conn, handle)
            return state
        return states.request_resume(conn, handle.id)


def _return_orphans(conn: Connection, handle: JobHandle) -> None:
    """Return the tasks of a killed command's slots, if no worker lives. The job's row is locked first, as always."""
    FIGURES.lock_job(conn, job=handle.id)
    if not WORKERS.live_slots(conn):
        FIGURES.return_orphans(conn, job=handle.id)


def wait_for_orphan(handle: JobHandle, clock: Clock) -> None:
    """Wait until the workers of a command that was just killed no longer count as alive, which takes some seconds.
    Returns at once for a job that is at rest. Raises nothing if the workers stay: `resume_job` reports it then."""
    deadline = clock.monotonic_ns() + int((LIVE_SECONDS + 2) * 1e9)
    while clock.monotonic_ns() < deadline:
        with handle.database.transaction() as conn:
            state = ledger_jobs.get_job(conn, handle.id).state
            if state not in (JobState.RUNNING, JobState.CANCELLING) or not WORKERS.live_slots(conn):
                return
        clock.sleep(_POLL_SECONDS)


def settle_job(handle: JobHandle, clock: Clock, seconds: float = SETTLE_SECONDS) -> JobState:
    """Wait until a job that is pausing or cancelling is at rest; return its state then, or when the time is over.

    A live queue manager does this by itself; if its command was killed, this function does it, once the workers are
    known to be dead."""
    deadline = clock.monotonic_ns() + int(seconds * 1e9)
    while True:
        with handle.database.transaction(durable=True) as conn:
            _return_orphans(conn, handle)
            state = states.settle(conn, handle.id)
        if state not in (JobState.PAUSING, JobState.CANCELLING) or clock.monotonic_ns() >= deadline:
            return state
        clock.sleep(_POLL_SECONDS)


def job_directory(storage_root: Path, job: uuid.UUID) -> bytes:
    """Return the directory of everything that the job writes on the filer."""
    return os.path.join(os.fsencode(storage_root), job_location(job))


def takers(jobs: Jobs) -> list[str]:
    """Return the ids of the jobs that took items of these discoveries, whether they are over or not; raises DatabaseFault."""
    found: list[str] = []
    for handle in jobs.each:
        if handle.job.options.type is JobType.DISCOVERY:
            found += map(str, sorted(handle.database.ask(kin_of, handle.id)))
    return found


def delete_job(handle: JobHandle, storage: Storage, storage_root: Path) -> str:
    """Remove the job's files on the filer, then its rows; a repeated call continues where the first one stopped.

    Returns one line about files in its output directory that stay because the job did not write them, or an empty
    string. Until the end its state is `deleting`, and no transaction is open while files are removed. Raises UsageError
    while the job may still change or if its files are under another storage root, StorageFault, DatabaseFault."""
    storage.keep_below(os.fsencode(storage_root), own=True)
    refuse_other_storage(handle, storage_root)
    with handle.database.transaction(durable=True) as conn:
        _begin_deletion(conn, handle)  # from here on no process resumes it
    left = types_of(handle.job.options.of_type).remove_output(handle, storage)
    storage.remove_tree(job_directory(storage_root, handle.id))
    deletion.delete_rows(handle.database, handle.id)
    return left


def _begin_deletion(conn: Connection, handle: JobHandle) -> None:
    """Set the state once, whatever fails afterwards. The job's own list of actions is deleted with it, so the deletion
    is recorded with the jobs whose items it took and with those that took its items, including what a production wrote.
    All are locked in one order, whichever of them is deleted."""
    kin = kin_of(conn, handle.id)
    for job in sorted((handle.id, *kin)):
        FIGURES.lock_whole_job(conn, job=job)
    refuse_taken(conn, handle.id, "delete that job, or wait until it has ended")
    if not deletion.begin(conn, handle.id):
        return
    details = {
        "as_job": handle.id,
        "name": handle.job.name,
        "chain": last_chain(conn, handle.id),
        **ended(conn, handle.id),
    }
    for job in kin:
        note(conn, job, f"{handle.job.options.type} deleted", **details)


def refuse_other_storage(handle: JobHandle, storage_root: Path) -> None:
    """Raise UsageError if this storage root does not have the job's folder. A root that has it is the job's, whatever
    its path (another mount point, a container)."""
    theirs, ours = handle.job.storage, os.fsencode(storage_root)
    if os.path.realpath(theirs) == os.path.realpath(ours):
        return
    try:
        Storage().stat(job_directory(storage_root, handle.id))
    except SourceFileError as error:
        raise UsageError(
            f"job {handle.id} stores its files in {display_name(theirs)}, not in {display_name(ours)}; set "
            f"EDBENCH_STORAGE={shlex.quote(display_name(theirs))}"
        ) from error


def ask_all(jobs: Jobs, ask: Callable[[JobHandle], JobState]) -> JobState:
    """Ask the jobs to end; return the state of all together. In a group, jobs that cannot be asked keep their state;
    raises UsageError if none can be asked, DatabaseFault."""
    refused: UsageError | None = None
    states: list[JobState] = []
    asked = 0
    for handle in jobs.each:
        try:
            states.append(ask(handle))
            asked += 1
        except UsageError as error:
            refused = error
            states.append(handle.database.ask(get_job, handle.id).state)
    if refused is not None and not asked:
        raise refused
    return group_state(states)


def requeue_exceptions(
    jobs: Jobs, code: str | None = None, *, storage_root: Path, passwords: PasswordBank | None = None
) -> int:
    """Process the loose files with exceptions (of one code, if given), and everything inside them, again; return their
    number.

    The jobs are paused afterwards: resume them with workers. `passwords` are added to the jobs' banks. In a group, jobs
    without such exceptions stay as they are. Raises UsageError if there is nothing to requeue, another job takes items
    of one of them, they read copies of their source, which are gone, or an experiment uses the system;
    DatabaseFault."""
    refuse_experiment(jobs.each[0].database)  # also here: the resume that follows would be refused with the job changed
    if jobs.group is None:
        return _requeue(jobs.each[0], code, storage_root, passwords)
    if jobs.copied:
        raise UsageError(f"the jobs of group {jobs.id} read copies of their source, which were removed at their end")
    with_exceptions = [h for h in refresh(jobs).each if h.job.state is JobState.COMPLETED_WITH_EXCEPTIONS]
    for handle in with_exceptions:  # before any is changed: a refusal of one below is raised only where all are refused
        handle.database.ask(refuse_taken, handle.id, TAKEN)
    total = 0
    refused = UsageError(f"no job of group {jobs.id} completed with exceptions")
    for handle in with_exceptions:
        try:
            total += _requeue(handle, code, storage_root, passwords)
        except UsageError as error:
            refused = error
    if not total:
        raise refused
    return total


def _requeue(handle: JobHandle, code: str | None, storage_root: Path, passwords: PasswordBank | None) -> int:
    if passwords is None:
        with handle.database.transaction(durable=True) as conn:
            FIGURES.lock_whole_job(conn, job=handle.id)
            note(conn, handle.id, REQUEUED, code=code)
            return requeue(conn, handle.id, get_job(conn, handle.id).options, code)
    job = handle.database.ask(get_job, handle.id)
    before = stored_bank(storage_root, job)
    # What was opened with the old bank is opened again, so it must stay in the new one.
    bank = passwords if before is None else before.extended(passwords)
    old, new = job.options.passwords, store_bank(storage_root, handle.id, bank)
    try:
        with handle.database.transaction(durable=True) as conn:
            FIGURES.lock_whole_job(conn, job=handle.id)
            note(conn, handle.id, REQUEUED, code=code, passwords="more")
            files = requeue(conn, handle.id, job.options, code)
            set_options(conn, handle.id, dataclasses.replace(job.options, passwords=new))
    except EdbenchError:
        if new != old:
            remove_bank(storage_root, handle.id, new)
        raise
    if new != old:
        remove_bank(storage_root, handle.id, old)
    return files
