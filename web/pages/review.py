"""Pages of a job: hit reports of term lists, custody."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from controller.search.meaning import custodians_of
from core.errors import UsageError
from experiments.result.statistics import METHOD
from experiments.workloads import about
from web.api import jobs as jobs_api
from web.api import looking, named
from web.api import results as api
from web.api.needs import ActedOn, Context, Discovered, Rows
from web.auth import LOGIN
from web.errors import NotFound
from web.pages.render import explained, figure, page
from web.results import result_in, run_directory
from web.token import COMMAND, WEB

router = APIRouter()


@router.get(LOGIN)
def login(
    request: Request,
    next: Annotated[str, Query(max_length=4_000)] = "/",
    failed: Literal["", "token", "code"] = "",
) -> Response:
    """The sign-in form. It redeems no code, so that a browser that fetches links in advance does not use it up."""
    container = request.app.state.context.env.get(WEB, "") != ""
    return page(request, "login.html", next=next, failed=failed, command=COMMAND if container else "", signed_in=False)


@router.get("/results")
def results(request: Request, context: Context) -> Response:
    """All results, newest first."""
    return page(request, "results.html", listing=api.list_results(context))


@router.get("/labels")
def labels(request: Request) -> Response:
    """Show the meaning of each label and what to do about it."""
    return page(request, "labels.html", labels=explained())


@router.get("/results/{run}")
def one_result(request: Request, context: Context, run: api.Run) -> Response:
    """One result with its report; figures and loads are written as the report writes them."""
    result = api.one_result(context, run)
    points = result_in(run_directory(context.results_root, run)).points
    listed = api.list_results(context).results
    others = [row for row in listed if row.run != run and row.workload == result.workload]
    return page(
        request,
        "result.html",
        result=result,
        loads=[point.at.shown() for point in points],
        figures=[one for one in about(result.workload).figures if not one.aside],
        others=others,
        method=METHOD,
    )


@router.get("/compare")
def compare(
    request: Request,
    context: Context,
    run: Annotated[list[str] | None, Query(max_length=api.MOST_COMPARED)] = None,
    force: bool = False,
) -> Response:
    """Results in columns; for results that may not be compared the differences, and the figures only with `force`."""
    runs = list(dict.fromkeys(run or ()))
    if len(runs) < 2:
        return page(request, "compare.html", comparison=None, differences=[], chosen=len(runs), method=METHOD)
    try:
        comparison = api.compare(context, runs, force)
        refused: list[str] = []
    except NotFound:
        raise
    except UsageError:
        refused = api.compare(context, runs, True).differences
        comparison = None
    return page(
        request,
        "compare.html",
        status=409 if refused else 200,
        comparison=comparison,
        differences=refused,
        chosen=len(runs),
        bare=figure,
        force_url=f"/compare?{urlencode([('run', each) for each in runs] + [('force', '1')])}",
        method=METHOD,
    )


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
