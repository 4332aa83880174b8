"""POST pause, resume, cancel, requeue; DELETE."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import APIRouter

from controller.databases import JobHandle, Jobs
from controller.jobs.groups.create import clean_copies, delete_all, refuse_member, resume_all
from controller.jobs.groups.find import those_there
from controller.jobs.jobs import cancel_job, pause_job, settle_job
from controller.jobs.lifecycle import ask_all
from controller.jobs.requeue import requeue_exceptions
from core.clock import Clock
from core.errors import EdbenchError
from core.operations import NullRecorder
from core.passwords import bank_of
from core.records import JobState
from core.storage.layer import Storage
from readers.errors import ExceptionCode
from sql.jobs import summary
from web.api.models.common import responses
from web.api.models.jobs import Deleted, Requeue, Requeued, StateNow
from web.api.needs import Context, Discovered, Found
from web.api.system import DEFAULT_WORKERS
from web.context import WebContext

router = APIRouter(tags=["jobs"])


@router.post("/jobs/{job}/pause", responses=responses(404, 409))
def pause(context: Context, jobs: Found) -> StateNow:
    """Pause a job: running tasks end, no task starts."""
    return _end(context, jobs, pause_job)


@router.post("/jobs/{job}/cancel", responses=responses(404, 409))
def cancel(context: Context, jobs: Found) -> StateNow:
    """Cancel a job for good; its items stay until it is deleted."""
    return _end(context, jobs, cancel_job)


def _end(context: WebContext, jobs: Jobs, ask: Callable[[JobHandle], JobState]) -> StateNow:
    state = ask_all(jobs, ask)
    # If the job's command was killed, no other process does this. In a thread, because it may take as long as a lease.
    threading.Thread(target=_settle, args=(jobs, context), name=f"settle {jobs.id}", daemon=True).start()
    return StateNow(id=jobs.id, state=state)


def _settle(jobs: Jobs, context: WebContext) -> None:
    """Wait until the jobs have stopped, and remove copies of a source that are not needed any more."""
    clock: Clock = context.clock
    try:
        for handle in jobs.each:
            settle_job(handle, clock)
        clean_copies(jobs, Storage(NullRecorder()), context.settings.storage)
    except EdbenchError:  # the next request reports what is wrong
        return


@router.post("/jobs/{job}/resume", responses=responses(404, 409, 422))
def resume(context: Context, jobs: Found) -> StateNow:
    """Resume a job that is paused or suspended, or whose command was killed."""
    with _planned(context, jobs) as (workers, slots):
        return StateNow(id=jobs.id, state=_resume(context, jobs, workers, slots))


@router.post("/jobs/{job}/requeue", responses=responses(404, 409, 422))
def requeue(
    context: Context, jobs: Discovered, code: ExceptionCode | None = None, order: Requeue | None = None
) -> Requeued:
    """Process the loose files that have exceptions (of one code, if given) and everything inside them again. The job's result
    is labelled with it."""
    bank = bank_of(order.passwords, "passwords") if order and order.passwords else None
    root = context.settings.storage
    with _planned(context, jobs) as (workers, slots):
        files = requeue_exceptions(jobs, code.value if code else None, storage_root=root, passwords=bank)
        return Requeued(id=jobs.id, state=_resume(context, jobs, workers, slots), loose_files=files)


@contextmanager
def _planned(context: WebContext, jobs: Jobs) -> Iterator[tuple[int, int]]:
    """Reserve the workers and slots that the job was created with for the block. Raises FieldErrors when they cannot be started
    now."""
    handles = those_there(jobs)
    with handles[0].database.transaction() as conn:
        planned = summary(conn, handles[0].id)
    workers = planned.workers_planned or DEFAULT_WORKERS
    slots = planned.slots_planned or context.settings.slots
    filer = handles[0].job.options.filer.source
    with context.during(f"job {jobs.id} is being resumed"), context.runner.reserved(workers, slots, filer):
        yield workers, slots


def _resume(context: WebContext, jobs: Jobs, workers: int, slots: int) -> JobState:
    state = resume_all(jobs, attach=context.embedded)
    context.runner.start(context.find(str(jobs.id)), workers=workers, slots=slots)
    return state


@router.delete("/jobs/{job}", responses=responses(404, 409))
def delete(context: Context, jobs: Found) -> Deleted:
    """Delete a job that does not run: its rows, and its files on the filer. The source is not changed."""
    refuse_member(context.databases, jobs)
    return Deleted(left=delete_all(jobs, Storage(NullRecorder()), context.settings.storage))
