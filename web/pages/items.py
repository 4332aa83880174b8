"""Items in pages, filtered; exceptions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response

from controller.browse.item_filter import EXAMPLE, ItemFilter
from controller.browse.pages import texts_of_jobs
from controller.findings import ReviewKind, latest
from core.errors import UsageError
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from web.api import exceptions as exceptions_api
from web.api import items as api
from web.api import jobs as jobs_api
from web.api.exceptions import By
from web.api.models.common import Filter
from web.api.models.items import ItemPage
from web.api.needs import Context, Discovered, Found, Rows
from web.errors import FieldErrors
from web.pages.render import page

_WORDS = {"yes": True, "no": False}


def _chosen(
    custodian: Filter = None,
    type: Filter = None,
    exception: Annotated[str, Query(max_length=50)] = "",
    kind: Kind | Literal[""] = "",
    text: TextState | Literal[""] = "",
    where: Annotated[str, Query(max_length=2_000)] = "",
    language: Annotated[str, Query(max_length=20)] = "",
    duplicate: Literal["", "yes", "no"] = "",
    near: Literal["", "yes", "no"] = "",
    system: Literal["", "yes", "no"] = "",
) -> dict[str, str]:
    return {
        "custodian": custodian or "",
        "type": type or "",
        "exception": exception,
        "kind": str(kind),
        "text": str(text),
        "where": where.strip(),
        "language": language,
        "duplicate": duplicate,
        "near": near,
        "system": system,
    }


Chosen = Annotated[dict[str, str], Depends(_chosen)]


def filter_of(given: Mapping[str, str]) -> ItemFilter:
    """The filter of those that are given. Raises FieldErrors."""
    kind, text = given.get("kind"), given.get("text")
    wanted: dict[str, Any] = {
        name: given.get(name) for name in ("custodian", "type", "exception", "language") if given.get(name)
    }
    wanted |= {name: _WORDS[given[name]] for name in ("duplicate", "near", "system") if given.get(name)}
    return api.item_filter(
        kind=Kind(kind) if kind else None,
        text=TextState(text) if text else None,
        where=given.get("where", "").replace("\0", " "),
        **wanted,
    )


PAGE_ROWS = 100
_FILTERS = ("custodian", "type", "where")  # filters with a field that can show an error

router = APIRouter()


@router.get("/jobs/{job}/items")
def items(
    request: Request, context: Context, rows: Rows, jobs: Discovered, chosen: Chosen, after: uuid.UUID | None = None
) -> Response:
    """Items in path order that pass the filters; an empty filter is none."""
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
        wrong=dict.fromkeys((*_FILTERS, "found"), "") | wrong,
        chosen=chosen,
        narrowed=bool(given),
        carried=f"?{urlencode(given)}" if given else "",
        kinds=list(Kind),
        text_states=list(TextState),
        languages=_languages(context, jobs, chosen["language"]),
        example=EXAMPLE,
        codes=list(ExceptionCode),
        first_url=f"{here}?{urlencode(given)}" if after else None,
        next_url=f"{here}?{urlencode(given | {'after': str(listed.next)})}" if listed.next else None,
    )


def _languages(context: Context, jobs: Found, chosen: str) -> list[str]:
    """Languages detected in the job, most frequent first, and the chosen one."""
    try:
        found = list(latest(jobs.each, ReviewKind.LANGUAGES, context.databases).figures["by"])
    except UsageError:  # the review has not run
        found = []
    return [*found, *([chosen] if chosen and chosen not in found else [])]


def _listed(
    context: Context, jobs: Found, given: dict[str, str], after: uuid.UUID | None
) -> tuple[ItemPage, dict[str, str]]:
    """The page of items, or none and what is wrong with which filter."""
    try:
        return api.items(context, jobs, filter_of(given), limit=PAGE_ROWS, after=after), {}
    except FieldErrors as error:
        if not set(_FILTERS).issuperset(error.errors):
            raise
        wrong = dict(error.errors)
    except UsageError as error:  # nothing is known of (near-)duplicates, languages, or system files
        wrong = {"found": str(error)}
    return ItemPage(items=[], next=None), wrong


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
