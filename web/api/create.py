"""POST /jobs: validates each field and creates the job as `edbench discover` does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Response

from controller.databases import first_databases
from controller.filer.emulated import refuse_no_common_arbiter
from controller.jobs.create import create_discovery
from controller.jobs.jobs import prepare_source, refuse_own_output
from controller.jobs.ocr import refuse_no_ocr
from controller.jobs.run import crew_of
from core.errors import UsageError
from core.filer.load import profile_names
from core.operations import NullRecorder
from core.passwords import bank_of
from core.settings import INDEX_ENGINES, Settings, filer_source
from core.storage.layer import Storage
from web.api.models.common import responses
from web.api.models.jobs import JobId, NewJob
from web.api.needs import Context
from web.api.system import DEFAULT_WORKERS
from web.context import WebContext
from web.corpora import chosen_source
from web.errors import FieldErrors

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
        filer = Storage(NullRecorder())
        source = prepare_source(filer, chosen_source(context, order.corpus, order.source))
        refuse_own_output(source, settings)
        refuse_no_common_arbiter(databases, settings, ours=context.embedded)
    with context.during("a job is being created"), context.runner.reserved(workers, slots, settings.filer):
        jobs = create_discovery(databases, filer, settings, source, plan, workers=workers, slots=slots)
        context.runner.start(jobs, workers=workers, slots=slots)
    response.headers["Location"] = f"/api/v1/jobs/{jobs.id}"
    return JobId(id=jobs.id)


def crew(context: WebContext, workers: int | None, slots: int | None) -> tuple[int, int]:
    """Number of workers and slots: as requested where this server starts them, else those that run now. Raises FieldErrors."""
    if context.embedded:
        return workers or DEFAULT_WORKERS, slots or context.settings.slots
    theirs = "this server does not start the workers (use make scale N=…); leave the field empty"
    wrong = {name: theirs for name, given in (("workers", workers), ("slots", slots)) if given is not None}
    if wrong:
        raise FieldErrors(wrong)
    return crew_of(context.databases[0]) if context.databases else (0, 0)


def server_settings(context: WebContext, filer: str | None, index_engine: str | None = None) -> Settings:
    """The server's settings with what was given instead. Raises FieldErrors."""
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


@contextmanager
def at_field(usual: str) -> Iterator[None]:
    """Report an error of an option at its field, and an error without one at the usual field."""
    try:
        yield
    except UsageError as error:
        raise FieldErrors({error.field or usual: str(error)}) from error
