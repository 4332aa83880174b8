"""The form that begins an extraction, a processing or an export of a discovery."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response

from controller.production.create import databases_of
from core.options.production import JobType
from web.api import jobs as jobs_api
from web.api import named, system
from web.api.models.production import NewProduction
from web.api.needs import Context, Discovered, Rows
from web.pages.form import inputs
from web.pages.render import page

_OF_ONE = {
    "export": {"dat_encoding", "images"},
    "processing": {"image_format", "dpi"},
    "extraction": set[str](),
}

router = APIRouter()


@router.get("/jobs/{job}/produce")
def produce(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Discovered,
    type: Literal["extraction", "processing", "export"] = "export",
) -> Response:
    """With every option that the command of this type has."""
    choices = system.choices(context)
    others = set().union(*(names for of, names in _OF_ONE.items() if of != type))
    listed = jobs_api.list_jobs(context, rows, limit=500).jobs
    return page(
        request,
        "produce.html",
        job=jobs_api.one_job(context, rows, jobs),
        type=type,
        types=list(_OF_ONE),
        creating=choices.creating,
        parts=databases_of(jobs.each),
        form=inputs(NewProduction, choices, but=others | {"out"}),
        roots=[str(context.settings.storage), *map(str, context.productions)],
        tags=named.tags(jobs).tags,
        processed=[row for row in listed if row.type is JobType.PROCESSING],
        took=[row for row in listed if row.type is not JobType.DISCOVERY],
    )
