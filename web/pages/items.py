"""Items in pages, filtered; exceptions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError, validate_call

from controller.browse.counts import texts_of_jobs
from controller.browse.item_filter import ItemFilter
from controller.findings import ReviewKind, latest
from core.errors import UsageError
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from web.api import exceptions as exceptions_api
from web.api import items as api
from web.api import jobs as jobs_api
from web.api.exceptions import By
from web.api.models.items import ItemPage
from web.api.needs import Context, Discovered, Found, Rows
from web.errors import FieldErrors
from web.pages.render import page

FILTERS = ("custodian", "type", "exception", "kind", "text", "language", "duplicate", "near", "system")
_checked = validate_call(api.item_filter)  # of the texts of a form: "yes" is true


def _chosen(request: Request) -> dict[str, str]:
    """The values of all filters; empty if not set, as forms send them."""
    return {name: request.query_params.get(name, "").replace("\0", " ") for name in FILTERS}


Chosen = Annotated[dict[str, str], Depends(_chosen)]


def given_of(chosen: Mapping[str, str]) -> dict[str, str]:
    """The filters that are not empty."""
    return {name: value for name, value in chosen.items() if value.strip()}


def filter_of(given: Mapping[str, Any]) -> ItemFilter:
    """The filter from the values that are set. Raises FieldErrors, RequestValidationError."""
    try:
        return _checked(**given)
    except ValidationError as error:
        wrong = [each | {"loc": ("query", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(wrong) from error


PAGE_ROWS = 100
_WITH_ERRORS = ("custodian", "type")  # filters with a field that can show an error

router = APIRouter()


@router.get("/jobs/{job}/items")
def items(
    request: Request, context: Context, rows: Rows, jobs: Discovered, chosen: Chosen, after: uuid.UUID | None = None
) -> Response:
    """Items in path order that pass the filters; an empty filter is none."""
    given = given_of(chosen)
    listed, wrong = _listed(context, jobs, given, after)
    job = jobs_api.one_job(context, rows, jobs)
    here = f"/jobs/{job.id}/items"
    return page(
        request,
        "items.html",
        status=422 if wrong else 200,
        job=job,
        rows=listed.items,
        wrong=dict.fromkeys((*_WITH_ERRORS, "found"), "") | wrong,
        chosen=chosen,
        narrowed=bool(given),
        carried=f"?{urlencode(given)}" if given else "",
        kinds=list(Kind),
        text_states=list(TextState),
        languages=_languages(context, jobs, chosen["language"]),
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
    """The page of items, or an empty one and the errors of the filters."""
    try:
        return api.items(context, jobs, filter_of(given), limit=PAGE_ROWS, after=after), {}
    except FieldErrors as error:
        if not set(_WITH_ERRORS).issuperset(error.errors):
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
