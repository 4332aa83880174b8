"""POST /jobs: validated field by field, then made as `edbench discover` makes it."""

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
def create(context: Context, wish: NewJob, response: Response) -> JobId:
    """Create a discovery job, or a group of simultaneous ones, and have it worked on."""
    workers, slots = crew(context, wish.workers, wish.slots)
    settings = server_settings(context, wish.filer, wish.index_engine)
    with at_field("filer"):
        databases = first_databases(context.databases, wish.databases)
        plan = wish.plan(settings, bank_of(wish.passwords, "passwords") if wish.passwords else None)
        if context.embedded:
            refuse_no_ocr(plan.options.ocr)
    with at_field("source"):
        filer = Storage(NullRecorder())
        source = prepare_source(filer, chosen_source(context, wish.corpus, wish.source))
        refuse_own_output(source, settings)
        refuse_no_common_arbiter(databases, settings, ours=context.embedded)
    with context.doing("a job is being created"), context.runner.reserved(workers, slots, settings.filer):
        jobs = create_discovery(databases, filer, settings, source, plan, workers=workers, slots=slots)
        context.runner.start(jobs, workers=workers, slots=slots)
    response.headers["Location"] = f"/api/v1/jobs/{jobs.id}"
    return JobId(id=jobs.id)


def crew(context: WebContext, workers: int | None, slots: int | None) -> tuple[int, int]:
    """Workers and slots of each: as wished where they are ours, else those that live now. Raises FieldErrors."""
    if context.embedded:
        return workers or DEFAULT_WORKERS, slots or context.settings.slots
    theirs = "the workers are run by others here (make scale N=…); leave it out"
    wrong = {name: theirs for name, wished in (("workers", workers), ("slots", slots)) if wished is not None}
    if wrong:
        raise FieldErrors(wrong)
    return crew_of(context.databases[0]) if context.databases else (0, 0)


def server_settings(context: WebContext, filer: str | None, index_engine: str | None = None) -> Settings:
    """The server's settings with what was wished instead. Raises FieldErrors."""
    engine = index_engine or context.settings.index_engine
    wrong: dict[str, str] = {}
    if engine not in INDEX_ENGINES:
        wrong["index_engine"] = f"it can be {' or '.join(INDEX_ENGINES)}"
    profiles = {"none", *profile_names()}
    if filer is not None and filer not in profiles:  # a file's path is for the command line only
        wrong["filer"] = f"it can be {', '.join(sorted(profiles))}"
    elif not context.embedded and filer not in (None, context.settings.filer):
        wrong["filer"] = (
            f"the workers are run by others here, with {context.settings.filer}; start them with another EDBENCH_FILER,"
            " or the job with edbench discover --filer"
        )
    if wrong:
        raise FieldErrors(wrong)
    source = context.settings.filer if filer is None else filer_source(filer)
    return dataclasses.replace(context.settings, index_engine=engine, filer=source)


@contextmanager
def at_field(usual: str) -> Iterator[None]:
    """What a command says of an option stands at that field; what names none is about the usual one."""
    try:
        yield
    except UsageError as error:
        raise FieldErrors({error.field or usual: str(error)}) from error
