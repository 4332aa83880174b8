"""Items: pages of them, one with its family and text, search, exceptions."""

from __future__ import annotations

import uuid
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from controller.browse.item_filter import EXAMPLE
from controller.browse.pages import texts_of_jobs
from core.errors import ExceptionCode, RunFailed
from core.records import Kind, TextState
from web.api import exceptions as exceptions_api
from web.api import items as api
from web.api import jobs as jobs_api
from web.api import named as named_api
from web.api.exceptions import By
from web.api.models.common import Filter
from web.api.models.items import ItemPage, SearchAnswer
from web.api.needs import Context, Found, Rows
from web.errors import FieldErrors
from web.pages.family import tree
from web.pages.metadata import pairs_of
from web.pages.render import page

PAGE_ROWS = 100
TEXT_SHOWN = 20_000  # characters of an item's text on its page; the API gives all of it
HITS = 50

router = APIRouter()


@router.get("/jobs/{job}/items")
def items(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Found,
    custodian: Filter = None,
    type: Filter = None,
    exception: Annotated[str, Query(max_length=50)] = "",
    kind: Kind | Literal[""] = "",
    text: TextState | Literal[""] = "",
    where: Annotated[str, Query(max_length=2_000)] = "",
    after: uuid.UUID | None = None,
) -> Response:
    """Items in path order that pass the filters; an empty filter is none."""
    chosen = {
        "custodian": custodian or "",
        "type": type or "",
        "exception": exception,
        "kind": str(kind),
        "text": str(text),
        "where": where.strip(),
    }
    given = {name: value for name, value in chosen.items() if value}
    listed, wrong = _listed(context, jobs, given, after)
    job = jobs_api.one_job(context, rows, jobs)
    here = f"/jobs/{job.id}/items"
    return page(
        request,
        "items.html",
        status=422 if wrong else 200,
        job=job,
        rows=listed.items,
        wrong=wrong,
        chosen=chosen,
        narrowed=bool(given),
        kinds=list(Kind),
        text_states=list(TextState),
        example=EXAMPLE,
        codes=list(ExceptionCode),
        first_url=f"{here}?{urlencode(given)}" if after else None,
        next_url=f"{here}?{urlencode(given | {'after': str(listed.next)})}" if listed.next else None,
    )


def _listed(context: Context, jobs: Found, given: dict[str, str], after: uuid.UUID | None) -> tuple[ItemPage, str]:
    """The page of items, or none and what is wrong with the conditions."""
    kind, text = given.get("kind"), given.get("text")
    try:
        return api.items(
            context,
            jobs,
            custodian=given.get("custodian"),
            type=given.get("type"),
            exception=given.get("exception"),
            kind=Kind(kind) if kind else None,
            text=TextState(text) if text else None,
            where=given.get("where", "").replace("\0", " "),
            limit=PAGE_ROWS,
            after=after,
        ), ""
    except FieldErrors as error:
        if "where" not in error.errors:
            raise
        return ItemPage(items=[], next=None), error.errors["where"]


@router.get("/jobs/{job}/items/{item}")
def one_item(request: Request, context: Context, rows: Rows, jobs: Found, item: uuid.UUID) -> Response:
    """Everything about one item."""
    details = api.item(jobs, item)
    family = api.family(jobs, item)
    try:
        text, no_text = api.text(context, jobs, item, limit=TEXT_SHOWN), ""
    except RunFailed as error:  # no index yet, say: the rest of the page is as good as ever
        text, no_text = None, str(error)
    return page(
        request,
        "item.html",
        job=jobs_api.one_job(context, rows, jobs),
        item=details,
        pairs=pairs_of(details),
        roots=tree(family),
        truncated=family.truncated,
        text=text,
        no_text=no_text,
    )


@router.get("/jobs/{job}/search")
def search(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Found,
    q: Annotated[str, Query(max_length=2_000)] = "",
    families: bool = False,
) -> Response:
    """The best hits with their snippets, and all that match counted."""
    answer: SearchAnswer | None = None
    wrong = ""
    status = 200
    if q.strip():
        try:
            answer = api.search(context, jobs, q=q.replace("\0", " "), limit=HITS, families=families)
        except (FieldErrors, RunFailed) as error:
            wrong, status = str(error), 422 if isinstance(error, FieldErrors) else 409
    job = jobs_api.one_job(context, rows, jobs)
    return page(
        request,
        "search.html",
        status=status,
        job=job,
        q=q,
        families=families,
        answer=answer,
        wrong=wrong,
        searches=named_api.searches(jobs).searches,
        tags=named_api.tags(jobs).tags,
    )


@router.get("/jobs/{job}/exceptions")
def exceptions(request: Request, context: Context, rows: Rows, jobs: Found) -> Response:
    """Exceptions counted in three ways, and text states; each number leads to its items."""
    tables = [
        (title, parameter, exceptions_api.counts(jobs, by=by).rows)
        for by, title, parameter in (
            (By.CODE, "code", "exception"),
            (By.TYPE, "media type", "type"),
            (By.CUSTODIAN, "custodian", "custodian"),
        )
    ]
    job = jobs_api.one_job(context, rows, jobs)
    total = sum(row.exceptions for row in tables[0][2])
    texts = texts_of_jobs(jobs.each)
    return page(request, "exceptions.html", job=job, tables=tables, total=total, texts=texts)
