"""Term lists and their hit report; tags and searches that are kept; who did what."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Path, Response

from controller.custody.actions import actions_of
from controller.databases import Jobs
from controller.search.named import (
    TagChange,
    forget_search,
    save_search,
    searches_of,
    tag_found,
    tag_items,
    tags_of,
)
from controller.search.report import CSV_FIELDS, HitReport, csv_rows, hit_report
from controller.search.term_lists import listed
from core.csv_cells import defused
from core.document import TEXT
from core.errors import UsageError
from web.api.models.common import responses
from web.api.models.named import Actions, Searches, SearchWish, Tags, TagWish, TermsWish
from web.api.needs import ActedOn, Context, Discovered
from web.context import WebContext
from web.errors import FieldErrors, NotFound

router = APIRouter(tags=["search"])


@router.post("/jobs/{job}/terms", responses=responses(404, 409, 422))
def terms(context: Context, jobs: Discovered, wish: TermsWish) -> HitReport:
    """What each term finds: items, with their families, families, what it alone finds, by custodian. Changes nothing."""
    with _at_field("terms"):
        return hit_report(jobs.each, context.indexes.of, listed(wish.terms, "the list"), custodian=wish.custodian)


@router.post(
    "/jobs/{job}/terms.csv",
    response_class=Response,
    responses=responses(404, 409, 422) | {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def terms_csv(context: Context, jobs: Discovered, wish: TermsWish, raw: bool = False) -> Response:
    """The same as CSV, a line for each custodian with hits behind its term's. A cell that a spreadsheet would run as a formula
    has an apostrophe in front; with `raw` it stays as it is."""
    report, out = terms(context, jobs, wish), io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(CSV_FIELDS)
    writer.writerows(list(map(str if raw else defused, row)) for row in csv_rows(report))
    name = {"Content-Disposition": f'attachment; filename="terms-{jobs.id}.csv"'}
    return Response(out.getvalue().encode("utf-8", "replace"), media_type="text/csv; charset=utf-8", headers=name)


@router.get("/jobs/{job}/tags", responses=responses(404, 409))
def tags(jobs: Discovered) -> Tags:
    """Every tag, and how many items have it."""
    return Tags(tags=tags_of(jobs.each))


@router.post("/jobs/{job}/tags", responses=responses(404, 409, 422))
def tag(context: Context, jobs: Discovered, wish: TagWish) -> TagChange:
    """Tag what a query finds, or some items, or take the tag away; it is written down with the caller's address."""
    if (wish.query is None) == (wish.items is None):
        raise FieldErrors({"query": "give either a query or items"})
    with context.doing("a tag is being given"):
        return _tag(context, jobs, wish)


def _tag(context: WebContext, jobs: Jobs, wish: TagWish) -> TagChange:
    if wish.items is not None:
        with _at_field("tag"):
            return tag_items(jobs.each, wish.tag, wish.items, families=wish.families, remove=wish.remove)
    with _at_field("query"):
        return tag_found(
            jobs.each,
            context.indexes.of,
            wish.tag,
            wish.query or "",
            families=wish.families,
            remove=wish.remove,
        )


@router.get("/jobs/{job}/searches", responses=responses(404, 409))
def searches(jobs: Discovered) -> Searches:
    """The searches that are kept; `saved:NAME` is one of them in a query."""
    return Searches(searches=searches_of(jobs.each))


@router.put("/jobs/{job}/searches", responses=responses(404, 409, 422))
def save(jobs: Discovered, wish: SearchWish) -> Searches:
    """Keep a search under its name, instead of the one that had it."""
    with _at_field("query"):
        save_search(jobs.each, wish.name, wish.query)
    return Searches(searches=searches_of(jobs.each))


@router.delete("/jobs/{job}/searches/{name}", status_code=204, responses=responses(404, 409, 422))
def forget(jobs: Discovered, name: Annotated[str, Path(max_length=100, pattern=TEXT)]) -> None:
    """Forget a search; items that it was used to tag stay tagged."""
    try:
        forget_search(jobs.each, name)
    except UsageError as error:
        raise NotFound(str(error)) from error


@router.get("/jobs/{job}/actions", responses=responses(404))
def actions(jobs: ActedOn) -> Actions:
    """Who did what to the job, its items and their names, and when, oldest first."""
    return Actions(actions=actions_of(jobs.each))


@contextmanager
def _at_field(field: str) -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise FieldErrors({error.field or field: str(error)}) from error
