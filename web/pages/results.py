"""Results of experiments: the list, one with its report, several side by side."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from core.errors import UsageError
from experiments.result.statistics import METHOD
from web.api import results as api
from web.api.needs import Context
from web.errors import NotFound
from web.pages.labels import explained
from web.pages.render import page

MOST_COMPARED = 8

router = APIRouter()


@router.get("/results")
def results(request: Request, context: Context) -> Response:
    """All results, newest first."""
    return page(request, "results.html", listing=api.list_results(context))


@router.get("/labels")
def labels(request: Request) -> Response:
    """What each label means and what to do about it."""
    return page(request, "labels.html", labels=explained())


@router.get("/results/{run}")
def one_result(request: Request, context: Context, run: api.Run) -> Response:
    """One result with its report."""
    result = api.one_result(context, run)
    listed = api.list_results(context).results
    others = [row for row in listed if row.run != run and row.workload == result.workload]
    return page(request, "result.html", result=result, others=others, method=METHOD)


@router.get("/compare")
def compare(
    request: Request,
    context: Context,
    run: Annotated[list[str] | None, Query(max_length=MOST_COMPARED)] = None,
    force: bool = False,
) -> Response:
    """Results side by side; of those that may not be compared what differs, and the figures only with `force`."""
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
        force_url=f"/compare?{urlencode([('run', each) for each in runs] + [('force', '1')])}",
        method=METHOD,
    )
