"""Search: what matches, page by page, and what may be done with it."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from core.errors import RunFailed
from web.api import items as api
from web.api import jobs as jobs_api
from web.api import named as named_api
from web.api.models.items import SearchAnswer
from web.api.needs import Context, Discovered, Rows
from web.errors import FieldErrors
from web.pages.render import page

HITS = 50  # on a page
PAGES = 20  # the API gives a thousand hits

router = APIRouter()


@router.get("/jobs/{job}/search")
def search(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Discovered,
    q: Annotated[str, Query(max_length=2_000)] = "",
    families: bool = False,
    number: Annotated[int, Query(ge=1, le=PAGES, alias="page")] = 1,
) -> Response:
    """The hits with their snippets, and all that match counted."""
    answer: SearchAnswer | None = None
    wrong = ""
    status = 200
    if q.strip():
        try:
            answer = api.search(context, jobs, q=q.replace("\0", " "), limit=number * HITS, families=families)
        except (FieldErrors, RunFailed) as error:
            wrong, status = str(error), 422 if isinstance(error, FieldErrors) else 409
    job = jobs_api.one_job(context, rows, jobs)
    begin = (number - 1) * HITS
    asked = {"q": q} | ({"families": "true"} if families else {})
    here = f"/jobs/{job.id}/search"
    more = answer is not None and answer.items > number * HITS and number < PAGES
    return page(
        request,
        "search.html",
        status=status,
        job=job,
        q=q,
        families=families,
        answer=answer,
        hits=answer.hits[begin:] if answer else [],
        begin=begin,
        carried=urlencode(asked),
        wrong=wrong,
        searches=named_api.searches(jobs).searches,
        tags=named_api.tags(jobs).tags,
        previous_url=f"{here}?{urlencode(asked | {'page': number - 1})}" if number > 1 else None,
        next_url=f"{here}?{urlencode(asked | {'page': number + 1})}" if more else None,
    )
