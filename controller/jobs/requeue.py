"""Requeue exceptions: failed items are processed again, once the cause is fixed (permissions, a parser, memory)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from controller.custody.actions import REQUEUED, note
from controller.databases import JobHandle, Jobs, refuse_experiment
from controller.jobs.directories import remove_bank, store_bank, stored_bank
from controller.jobs.groups.find import refresh
from core.errors import EdbenchError, UsageError
from core.passwords import PasswordBank
from core.records import JobState
from sql.dependents import refuse_taken
from sql.faces.figures import FIGURES
from sql.jobs import get_job, set_options
from sql.requeue import TAKEN, requeue


def requeue_exceptions(
    jobs: Jobs, code: str | None = None, *, storage_root: Path, passwords: PasswordBank | None = None
) -> int:
    """Have the loose files with exceptions (of one code, if given), and everything inside them, processed again; how
    many they are. The jobs are paused afterwards: resume them with workers. `passwords` are added to the jobs' banks.

    Of a group, jobs without such exceptions stay as they are. Raises UsageError when there is nothing to requeue, another
    job takes items of one of them, they read copies of their source, which are gone, or an experiment has the system;
    DatabaseFault.
    """
    refuse_experiment(jobs.each[0].database)  # also here: the resume that follows would be refused with the job changed
    if jobs.group is None:
        return _requeue(jobs.each[0], code, storage_root, passwords)
    if jobs.copied:
        raise UsageError(f"the jobs of group {jobs.id} read copies of their source, which were removed at their end")
    with_exceptions = [h for h in refresh(jobs).each if h.job.state is JobState.COMPLETED_WITH_EXCEPTIONS]
    for handle in with_exceptions:  # before any is changed: a refusal of one below is raised only where all are refused
        with handle.database.transaction() as conn:
            refuse_taken(conn, handle.id, TAKEN)
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
    with handle.database.transaction() as conn:
        job = get_job(conn, handle.id)
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
