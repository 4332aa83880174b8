"""POST /productions: made as `edbench produce text`, `edbench produce images` and `edbench produce export` make them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fastapi import APIRouter, Response

from controller.databases import JobHandle, Jobs
from controller.filer.emulated import refuse_no_common_arbiter
from controller.jobs.groups.find import find_discovered, those_there
from controller.production.create import ProductionPlan, create_production, refuse_sources
from controller.production.imaged import options_with_images
from core.errors import UsageError
from core.operations import NullRecorder
from core.options.production import DAT_ENCODING, DPI, IMAGE_FORMAT, JobType
from core.settings import Settings
from core.storage.layer import Storage
from review.producing import with_findings
from web.api.create import at_field, crew, server_settings
from web.api.models.common import responses
from web.api.models.jobs import JobId
from web.api.models.production import NewProduction
from web.api.needs import Context
from web.context import WebContext
from web.corpora import allowed_output

router = APIRouter(tags=["jobs"])


@router.post("/productions", status_code=201, responses=responses(409, 422))
def produce(context: Context, wish: NewProduction, response: Response) -> JobId:
    """Create a job that extracts, processes or exports items of discoveries that have completed, and have it worked on."""
    workers, slots = crew(context, wish.workers, wish.slots)
    settings = server_settings(context, wish.filer)
    out = allowed_output(context, wish.out)
    with at_field("sources"):
        sources = [job for one in wish.sources for job in find_discovered(context.databases, one).each]
        refuse_sources(sources)
        refuse_no_common_arbiter([sources[0].database], settings, ours=context.embedded)
    with context.doing("a job is being created"), context.runner.reserved(workers, slots, settings.filer):
        jobs = _created(context, settings, wish, out, sources, workers, slots)
        context.runner.start(jobs, workers=workers, slots=slots)
    response.headers["Location"] = f"/api/v1/jobs/{jobs.id}"
    return JobId(id=jobs.id)


def _created(
    context: WebContext,
    settings: Settings,
    wish: NewProduction,
    out: Path,
    sources: list[JobHandle],
    workers: int,
    slots: int,
) -> Jobs:
    kind = JobType(wish.type)
    with at_field("query"):
        choice = replace(wish.choice(kind, out), extras=_extras(kind, wish))
        options, images = wish.options(settings, choice), _images(context, kind, wish)
        if images is not None:
            options = options_with_images(images, options, sources)
        with at_field("sources"):
            options = with_findings(options, sources, context.databases, None if images is None else images.job)
        plan = ProductionPlan(
            sources=sources,
            options=options,
            images=images,
            databases=context.databases,
            name=wish.name or f"{kind} of {sources[0].job.name}",
            workers=workers,
            slots=slots,
        )
        return create_production(Storage(NullRecorder()), settings, plan)


def _images(context: WebContext, kind: JobType, wish: NewProduction) -> JobHandle | None:
    """The job whose pages are taken, if any are. Raises FieldErrors."""
    if wish.images is None:
        return None
    with at_field("images"):
        if kind is not JobType.EXPORT:
            raise UsageError("an export takes the pages of another job; nothing else does")
        return those_there(context.find(wish.images))[0]


def _extras(kind: JobType, wish: NewProduction) -> tuple[tuple[str, str], ...]:
    """What one type alone is told."""
    return {
        JobType.EXPORT: ((DAT_ENCODING, wish.dat_encoding),),
        JobType.PROCESSING: ((IMAGE_FORMAT, wish.image_format), (DPI, str(wish.dpi))),
    }.get(kind, ())
