"""POST /productions: creates jobs as `edbench produce text`, `images` and `export` do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fastapi import APIRouter, Response

from controller.databases import JobHandle, Jobs
from controller.filer.emulated import refuse_no_common_arbiter
from controller.jobs.groups.find import find_discovered, those_there
from controller.production.create import ProductionPlan, create_production, refuse_sources
from controller.production.findings import with_findings
from controller.production.imaged import options_with_images
from core.errors import UsageError
from core.job_types import JobType
from core.operations import NullRecorder
from core.options.production import DAT_ENCODING, DPI, IMAGE_FORMAT
from core.settings import Settings
from core.storage.layer import Storage
from web.api.actions import at_field, crew, server_settings
from web.api.models.common import responses
from web.api.models.models import JobId, NewProduction
from web.api.needs import Context
from web.context import WebContext
from web.results import allowed_output

router = APIRouter(tags=["jobs"])


@router.post("/productions", status_code=201, responses=responses(409, 422))
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
        return create_production(Storage(NullRecorder()), settings, plan)


def _images(context: WebContext, kind: JobType, order: NewProduction) -> JobHandle | None:
    """The job whose pages are used, if any. Raises FieldErrors."""
    if order.images is None:
        return None
    with at_field("images"):
        if kind is not JobType.EXPORT:
            raise UsageError("only an export uses the pages of another job; leave it empty")
        return those_there(context.find(order.images))[0]


def _extras(kind: JobType, order: NewProduction) -> tuple[tuple[str, str], ...]:
    """Options of one type only."""
    return {
        JobType.EXPORT: ((DAT_ENCODING, order.dat_encoding),),
        JobType.PROCESSING: ((IMAGE_FORMAT, order.image_format), (DPI, str(order.dpi))),
    }.get(kind, ())
