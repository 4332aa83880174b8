"""POST pause, resume, cancel, requeue; DELETE."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Response

from controller.databases import JobHandle, Jobs, first_databases
from controller.filer import refuse_no_common_arbiter
from controller.jobs.create import clean_copies, create_discovery, delete_all, refuse_member, resume_all
from controller.jobs.groups import those_there
from controller.jobs.jobs import ask_all, cancel_job, pause_job, refuse_other_storage, requeue_exceptions, settle_job
from controller.jobs.run import crew_of
from controller.jobs.source import prepare_source, refuse_own_output
from core.clock import Clock
from core.errors import EdbenchError
from core.filer.model import profile_names
from core.passwords import bank_of
from core.records import JobState
from core.settings import INDEX_ENGINES, Settings, filer_source
from core.storage.layer import Storage
from readers.errors import ExceptionCode
from sql.jobs import summary
from web.api.models.common import responses
from web.api.models.jobs import Deleted, JobId, NewJob, Requeue, Requeued, StateNow
from web.api.needs import Context, Discovered, Found
from web.api.system import DEFAULT_WORKERS
from web.context import WebContext
from web.errors import FieldErrors, at_field
from web.results import chosen_source
from worker.ocr.tesseract import refuse_no_ocr

router = APIRouter(tags=["jobs"])


@router.post("/jobs", status_code=201, responses=responses(409, 422))
def create(context: Context, order: NewJob, response: Response) -> JobId:
    """Create a discovery job, or a group of simultaneous ones, and start it."""
    workers, slots = crew(context, order.workers, order.slots)
    settings = server_settings(context, order.filer, order.index_engine)
    with at_field("filer"):
        databases = first_databases(context.databases, order.databases)
        plan = order.plan(settings, bank_of(order.passwords, "passwords") if order.passwords else None)
        if context.embedded:
            refuse_no_ocr(plan.options.ocr)
    with at_field("source"):
        filer = Storage()
        source = prepare_source(filer, chosen_source(context, order.corpus, order.source))
        refuse_own_output(source, settings)
        refuse_no_common_arbiter(databases, settings, ours=context.embedded)
    with context.during("a job is being created"), context.runner.reserved(workers, slots, settings.filer):
        jobs = create_discovery(databases, filer, settings, source, plan, workers=workers, slots=slots)
        context.runner.start(jobs, workers=workers, slots=slots)
    response.headers["Location"] = f"/api/v1/jobs/{jobs.id}"
    return JobId(id=jobs.id)


def crew(context: WebContext, workers: int | None, slots: int | None) -> tuple[int, int]:
    """Number of workers and slots: as requested if this server starts them, else those that run now. Raises
    FieldErrors."""
    if context.embedded:
        return workers or DEFAULT_WORKERS, slots or context.settings.slots
    theirs = "this server does not start the workers (use make scale N=…); leave the field empty"
    wrong = {name: theirs for name, given in (("workers", workers), ("slots", slots)) if given is not None}
    if wrong:
        raise FieldErrors(wrong)
    return crew_of(context.databases[0]) if context.databases else (0, 0)


def server_settings(context: WebContext, filer: str | None, index_engine: str | None = None) -> Settings:
    """The server's settings with the given values instead. Raises FieldErrors."""
    engine = index_engine or context.settings.index_engine
    wrong: dict[str, str] = {}
    if engine not in INDEX_ENGINES:
        wrong["index_engine"] = f"{engine[:100]!r} is not one of {', '.join(INDEX_ENGINES)}"
    profiles = {"none", *profile_names()}
    if filer is not None and filer not in profiles:  # a file's path is for the command line only
        wrong["filer"] = f"{filer[:100]!r} is not one of {', '.join(sorted(profiles))}"
    elif not context.embedded and filer not in (None, context.settings.filer):
        wrong["filer"] = (
            f"this server does not start the workers, which use {context.settings.filer}; restart them with another"
            " EDBENCH_FILER, or use edbench discover --filer"
        )
    if wrong:
        raise FieldErrors(wrong)
    source = context.settings.filer if filer is None else filer_source(filer)
    return dataclasses.replace(context.settings, index_engine=engine, filer=source)


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
        clean_copies(jobs, context.settings.storage)
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
    """Reserve, for the block, the workers and slots that the job was created with. Raises FieldErrors if they cannot be
    started now."""
    handles = those_there(jobs)
    for handle in handles:
        refuse_other_storage(handle, context.settings.storage)
    planned = handles[0].database.ask(summary, handles[0].id)
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
    return Deleted(left=delete_all(jobs, context.settings.storage))
