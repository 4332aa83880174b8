"""Routes of productions: creating one, and the form for it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, Field

from controller.databases import JobHandle, Jobs
from controller.filer import refuse_no_common_arbiter
from controller.jobs.groups import find_discovered, those_there
from controller.jobs.overview import JobRow
from core.document import TEXT
from core.errors import UsageError
from core.job_types import JobType
from core.settings import Settings
from core.storage.layer import Storage
from production.choosing import options_with_images, with_findings
from production.create import ProductionPlan, create_production, databases_of, refuse_sources
from production.options import DAT_ENCODING, DPI, IMAGE_FORMAT
from production.orders import ProductionOrder, named_images
from web.api import jobs as jobs_api
from web.api import named, system
from web.api.actions import crew, server_settings
from web.api.models.common import responses
from web.api.models.jobs import JobId
from web.api.needs import Context, Discovered, Rows
from web.context import WebContext
from web.errors import at_field
from web.pages.form import Input, inputs
from web.pages.render import page, plain
from web.results import allowed_output


class NewProduction(ProductionOrder):
    """Options of `edbench produce text`, `images` and `export`."""

    type: Annotated[Literal["extraction", "processing", "export"], Field(description="Type of the job.")]
    sources: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]],
        Field(
            min_length=1,
            max_length=100,
            description="Discoveries that have completed: ids, unambiguous beginnings of them, or `last`.",
        ),
    ]
    out: Annotated[str, Field(max_length=4_000, pattern=TEXT)] = Field(
        description="Absolute path of an empty or new directory that the workers reach, below the storage root or"
        " EDBENCH_PRODUCTIONS."
    )
    dat_encoding: Annotated[
        Literal["utf-8", "utf-16-le", "cp1252"],
        Field(title="DAT encoding", description="Encode an export's loadfile.dat with this character set."),
    ] = "utf-8"
    image_format: Annotated[Literal["tiff", "jpeg", "pdf"], Field(description="Of a processing job's pages.")] = "tiff"
    dpi: int = Field(300, ge=72, le=600, title="Resolution, dpi", description="Of a processing job's pages.")
    images: Annotated[str | None, AfterValidator(named_images)] = Field(
        None, max_length=64, description="Take pages, items and numbers from this processing job (export only)."
    )
    filer: str | None = Field(None, max_length=100, description="Emulated filer; by default that of the server.")
    workers: int | None = Field(
        None, ge=1, le=512, description="Worker processes to start, default 2; only if the server starts them."
    )
    slots: int | None = Field(
        None, ge=1, le=64, title="Slots per worker", description="Only if the server starts the workers."
    )


api = APIRouter(tags=["jobs"])


@api.post("/productions", status_code=201, responses=responses(409, 422))
def produce(context: Context, order: NewProduction, response: Response) -> JobId:
    """Create a job that extracts, processes or exports items of completed discoveries, and start it."""
    workers, slots = crew(context, order.workers, order.slots)
    settings = server_settings(context, order.filer)
    out = allowed_output(context, order.out)
    with at_field("sources"):
        sources = [job for one in order.sources for job in find_discovered(context.databases, one).each]
        refuse_sources(sources)
        refuse_no_common_arbiter([sources[0].database], settings, ours=context.embedded)
    with context.during("a job is being created"), context.runner.reserved(workers, slots, settings.filer):
        jobs = _created(context, settings, order, out, sources, workers, slots)
        context.runner.start(jobs, workers=workers, slots=slots)
    response.headers["Location"] = f"/api/v1/jobs/{jobs.id}"
    return JobId(id=jobs.id)


def _created(
    context: WebContext,
    settings: Settings,
    order: NewProduction,
    out: Path,
    sources: list[JobHandle],
    workers: int,
    slots: int,
) -> Jobs:
    kind = JobType(order.type)
    with at_field("query"):
        choice = replace(order.choice(kind, out), extras=_extras(kind, order))
        options, images = order.options(settings, choice), _images(context, kind, order)
        if images is not None:
            options = options_with_images(images, options, sources)
        with at_field("sources"):
            options = with_findings(options, sources, context.databases, None if images is None else images.job)
        plan = ProductionPlan(
            sources=sources,
            options=options,
            images=images,
            databases=context.databases,
            name=order.name or f"{kind} of {sources[0].job.name}",
            workers=workers,
            slots=slots,
        )
        return create_production(Storage(), settings, plan)


def _images(context: WebContext, kind: JobType, order: NewProduction) -> JobHandle | None:
    """Return the job whose pages are used, if any. Raises FieldErrors."""
    if order.images is None:
        return None
    with at_field("images"):
        if kind is not JobType.EXPORT:
            raise UsageError("only an export uses the pages of another job; leave the field empty")
        return those_there(context.find(order.images))[0]


def _extras(kind: JobType, order: NewProduction) -> tuple[tuple[str, str], ...]:
    """Return the options that only this type has."""
    return {
        JobType.EXPORT: ((DAT_ENCODING, order.dat_encoding),),
        JobType.PROCESSING: ((IMAGE_FORMAT, order.image_format), (DPI, str(order.dpi))),
    }.get(kind, ())


_ONE_TYPE_FIELDS = {
    "export": {"dat_encoding", "images"},
    "processing": {"image_format", "dpi"},
    "extraction": set[str](),
}
_SHOWN = 500  # jobs below the form

pages = APIRouter()


@pages.get("/jobs/{job}/produce")
def produce_form(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Discovered,
    type: Literal["extraction", "processing", "export"] = "export",
) -> Response:
    """Render the form of a production, with every option that the command of this type has."""
    choices = system.choices(context)
    others = set().union(*(names for of, names in _ONE_TYPE_FIELDS.items() if of != type))
    sources = {handle.id for handle in jobs.each}
    listed, _ = rows.rows(context.databases, state=None, limit=_SHOWN, of=sources)
    took = [jobs_api.with_problem(context, row) for row in listed]
    form = inputs(NewProduction, choices, but=others | {"out"})
    return page(
        request,
        "produce.html",
        job=jobs_api.one_job(context, rows, jobs),
        type=type,
        types=list(_ONE_TYPE_FIELDS),
        creating=choices.creating,
        parts=databases_of(jobs.each),
        form=[_images_field(each, took, sources) if each.name == "images" else each for each in form],
        roots=[str(context.settings.storage), *map(str, context.productions)],
        tags=named.tags(jobs).tags,
        took=took,
    )


def _images_field(field: Input, took: Sequence[JobRow], sources: Collection[uuid.UUID]) -> Input:
    """Return the field for a processing job, as a choice of the completed ones that processed exactly these jobs."""
    own = [row for row in took if row.type is JobType.PROCESSING and set(row.sources) == set(sources)]
    fit = [row for row in own if row.state.completed]
    options = [(str(row.id), f"{plain(row.name)} ({str(row.id)[:8]})") for row in fit]
    return replace(
        field, kind="choice", options=[("", "none" if fit else "none: create a processing job first"), *options]
    )
