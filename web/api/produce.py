"""POST /productions: made as `edbench extract` and `edbench export` make them."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Response

from controller.filer.emulated import refuse_no_common_arbiter
from controller.jobs.groups.find import find_discovered
from controller.production.create import ProductionPlan, create_production, refuse_sources
from core.operations import NullRecorder
from core.options.production import DAT_ENCODING, JobType
from core.storage.layer import Storage
from review.looked_at import check_findings
from web.api.create import at_field, crew, server_settings
from web.api.models.common import responses
from web.api.models.jobs import JobId
from web.api.models.production import NewProduction
from web.api.needs import Context
from web.corpora import allowed_output

router = APIRouter(tags=["jobs"])


@router.post("/productions", status_code=201, responses=responses(409, 422))
def produce(context: Context, wish: NewProduction, response: Response) -> JobId:
    """Create a job that extracts or exports items of discoveries that have completed, and have it worked on."""
    workers, slots = crew(context, wish.workers, wish.slots)
    settings = server_settings(context, wish.filer)
    out = allowed_output(context, wish.out)
    with at_field("sources"):
        sources = [job for one in wish.sources for job in find_discovered(context.databases, one).each]
        refuse_sources(sources)
        check_findings(sources, context.databases, duplicates=wish.originals, system=wish.not_nist)
        refuse_no_common_arbiter([sources[0].database], settings, ours=context.embedded)
    context.runner.refuse(workers, slots, settings.filer)
    kind = JobType(wish.type)
    with at_field("query"):
        choice = wish.choice(kind, out)
        if kind is JobType.EXPORT:
            choice = replace(choice, extras=((DAT_ENCODING, wish.dat_encoding),))
        plan = ProductionPlan(
            sources=sources,
            options=wish.options(settings, choice),
            name=wish.name or f"{kind} of {sources[0].job.name}",
            workers=workers,
            slots=slots,
        )
        jobs = create_production(Storage(NullRecorder()), settings, plan)
    context.runner.start(jobs, workers=workers, slots=slots)
    response.headers["Location"] = f"/api/v1/jobs/{jobs.id}"
    return JobId(id=jobs.id)
