"""Hit reports of term lists, tags, saved searches, operator actions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from controller.custody import actions_of
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
from controller.search.report import CSV_FIELDS, HitReport, csv_rows, hit_report, listed
from core.document import TEXT
from core.errors import UsageError
from web.api.exceptions import CSV, csv_answer
from web.api.models.common import responses
from web.api.models.items import Actions, Searches, SearchOrder, TagOrder, Tags, TermsOrder
from web.api.needs import ActedOn, Context, Discovered
from web.context import WebContext
from web.errors import FieldErrors, NotFound, at_field

router = APIRouter(tags=["search"])


@router.post("/jobs/{job}/terms", responses=responses(404, 409, 422))
def terms(context: Context, jobs: Discovered, order: TermsOrder) -> HitReport:
    """Count the hits of each term: items, items with families, families, unique hits, by custodian."""
    with at_field("terms"):
        return hit_report(jobs.each, context.indexes.of, listed(order.terms, "the list"), custodian=order.custodian)


@router.post("/jobs/{job}/terms.csv", response_class=Response, responses=responses(404, 409, 422) | CSV)
def terms_csv(context: Context, jobs: Discovered, order: TermsOrder, raw: bool = False) -> Response:
    """The hit report as CSV, with a line per custodian after each term. Cells that a spreadsheet would run as a formula get an
    apostrophe, except with `raw`."""
    return csv_answer(f"terms-{jobs.id}", csv_rows(terms(context, jobs, order)), CSV_FIELDS, raw=raw)


@router.get("/jobs/{job}/tags", responses=responses(404, 409))
def tags(jobs: Discovered) -> Tags:
    """Every tag with its number of items."""
    return Tags(tags=tags_of(jobs.each))


@router.post("/jobs/{job}/tags", responses=responses(404, 409, 422))
def tag(context: Context, jobs: Discovered, order: TagOrder) -> TagChange:
    """Give a tag to items or to the hits of a query, or remove it. The chain of custody records it with the caller's address."""
    if (order.query is None) == (order.items is None):
        raise FieldErrors({"query": "give either query or items"})
    with context.during("a tag is being set"):
        return _tag(context, jobs, order)


def _tag(context: WebContext, jobs: Jobs, order: TagOrder) -> TagChange:
    if order.items is not None:
        with at_field("tag"):
            return tag_items(jobs.each, order.tag, order.items, families=order.families, remove=order.remove)
    with at_field("query"):
        return tag_found(
            jobs.each,
            context.indexes.of,
            order.tag,
            order.query or "",
            families=order.families,
            remove=order.remove,
        )


@router.get("/jobs/{job}/searches", responses=responses(404, 409))
def searches(jobs: Discovered) -> Searches:
    """The saved searches; `saved:NAME` uses one in a query."""
    return Searches(searches=searches_of(jobs.each))


@router.put("/jobs/{job}/searches", responses=responses(404, 409, 422))
def save(jobs: Discovered, order: SearchOrder) -> Searches:
    """Save a search; replaces one of the same name."""
    with at_field("query"):
        save_search(jobs.each, order.name, order.query)
    return Searches(searches=searches_of(jobs.each))


@router.delete("/jobs/{job}/searches/{name}", status_code=204, responses=responses(404, 409, 422))
def forget(jobs: Discovered, name: Annotated[str, Path(max_length=100, pattern=TEXT)]) -> None:
    """Delete a saved search; tags that were set with it stay."""
    try:
        forget_search(jobs.each, name)
    except UsageError as error:
        raise NotFound(str(error)) from error


@router.get("/jobs/{job}/actions", responses=responses(404))
def actions(jobs: ActedOn) -> Actions:
    """Operator actions on the job and its items, oldest first."""
    return Actions(actions=actions_of(jobs.each))
