"""Pages of a job: hit reports of term lists, custody."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from controller.search.meaning import custodians_of
from web.api import jobs as jobs_api
from web.api import looking, named
from web.api.needs import ActedOn, Context, Discovered, Rows
from web.pages.render import page

router = APIRouter()


@router.get("/jobs/{job}/terms")
def terms(request: Request, context: Context, rows: Rows, jobs: Discovered) -> Response:
    """The form for a list of terms; a script draws the report from the API's answer."""
    job = jobs_api.one_job(context, rows, jobs)
    return page(request, "terms.html", job=job, custodians=custodians_of(jobs.each))


@router.get("/jobs/{job}/custody")
def custody(request: Request, context: Context, rows: Rows, jobs: ActedOn) -> Response:
    """Operator actions, and links to the chain of custody as JSON lines."""
    job = jobs_api.one_job(context, rows, jobs)
    return page(
        request,
        "custody.html",
        job=job,
        actions=named.actions(jobs).actions,
        verified=looking.background_tasks(context, jobs).background_tasks.get(looking.VERIFY),
    )
