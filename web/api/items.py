"""Items: pages of them, and search."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from controller.browse.item_filter import ItemFilter, in_language, parse_conditions
from controller.browse.items import csv_row, fields_of, stream_all
from controller.browse.pages import items_page
from controller.databases import JobHandle, Jobs
from controller.findings import check_findings
from controller.search.answers import Wanted, answer_all
from controller.search.found import HIGHLIGHT_START, HIGHLIGHT_STOP
from controller.search.meaning import refuse_unknown_filter
from core.document import TEXT
from core.errors import UsageError
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from web.api.csv_answer import CSV, csv_answer
from web.api.models.common import CountByName, Filter, responses
from web.api.models.items import ItemPage, SearchAnswer
from web.api.needs import Context, Discovered
from web.api.shapes import pieces
from web.context import WebContext
from web.errors import FieldErrors, NotFound

router = APIRouter(tags=["items"])


def item_filter(
    custodian: Filter = None,
    type: Filter = None,
    exception: Annotated[str | None, Query(max_length=50, pattern=TEXT, description="A code, or `any`.")] = None,
    kind: Kind | None = None,
    text: TextState | None = None,
    where: Annotated[
        str,
        Query(max_length=2_000, pattern=TEXT, description="Conditions on metadata: `date>=2001-06 and author~smith`."),
    ] = "",
    language: Annotated[
        str | None, Query(max_length=20, pattern=TEXT, description="A detected language, such as `de`.")
    ] = None,
    duplicate: Annotated[bool | None, Query(description="Only duplicates (true) or only other items (false).")] = None,
    near: Annotated[bool | None, Query(description="Only near-duplicates, or only other items.")] = None,
    system: Annotated[bool | None, Query(description="Only system files, or only other items.")] = None,
) -> ItemFilter:
    """The filter of a request. Raises FieldErrors."""
    if exception not in (None, "any", *ExceptionCode):
        raise FieldErrors({"exception": f"it can be any, {', '.join(ExceptionCode)}"})
    try:
        conditions = parse_conditions(where)
    except UsageError as error:
        raise FieldErrors({"where": str(error)}) from error
    return ItemFilter(
        custodian=custodian,
        type=type,
        exception=exception,
        kind=kind,
        text_state=text,
        conditions=(*conditions, *in_language(language)),
        duplicate=duplicate,
        near=near,
        system=system,
    )


Filtered = Annotated[ItemFilter, Depends(item_filter)]


def checked(context: WebContext, jobs: Jobs, wanted: ItemFilter) -> Sequence[JobHandle]:
    """The jobs. Raises UsageError, FieldErrors where a review that the filter needs has not run."""
    used = {"duplicates": wanted.duplicate, "near": wanted.near, "system": wanted.system}
    try:
        refuse_unknown_filter(jobs.each, wanted)
    except UsageError as error:
        if not error.field:  # a review has not run, as below
            raise
        raise FieldErrors({error.field: str(error)}) from error
    check_findings(jobs.each, context.databases, **{name: value is not None for name, value in used.items()})
    return jobs.each


@router.get("/jobs/{job}/items", responses=responses(404, 409, 422))
def items(
    context: Context,
    jobs: Discovered,
    wanted: Filtered,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    after: Annotated[uuid.UUID | None, Query(description="The last page's `next`.")] = None,
) -> ItemPage:
    """Items in path order that pass every filter that is given."""
    handles = checked(context, jobs, wanted)
    try:
        rows = items_page(handles, wanted, after=after, limit=limit + 1)
    except UsageError as error:
        raise NotFound(str(error)) from error
    more = rows[limit - 1]["id"] if len(rows) > limit else None
    return ItemPage.model_validate({"items": rows[:limit], "next": more})


@router.get("/jobs/{job}/items.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def items_csv(context: Context, jobs: Discovered, wanted: Filtered, raw: bool = False) -> StreamingResponse:
    """Every item that passes every filter that is given, in path order, with the columns of `edbench review items -o csv`. A cell that
    a spreadsheet would run as a formula has an apostrophe in front; with `raw` it stays as it is."""
    handles = checked(context, jobs, wanted)
    fields, rows = fields_of(handles), stream_all(handles, wanted)
    return csv_answer(f"items-{jobs.id}", fields, (csv_row(item, fields, raw=raw) for item in rows))


@router.get("/jobs/{job}/search", tags=["search"], responses=responses(404, 409, 422))
def search(
    context: Context,
    jobs: Discovered,
    q: Annotated[str, Query(min_length=1, max_length=2_000, pattern=TEXT)],
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
    families: Annotated[bool, Query(description="With all items of the families of matching items.")] = False,
    custodian: Filter = None,
) -> SearchAnswer:
    """Search the text and fields of a job's items. Best match first; in path order with conditions on size, dates, states or
    tags, or with families. docs/search.md describes the language."""
    try:
        answer = answer_all(
            jobs.each, context.indexes.of, Wanted(query=q, limit=limit, families=families, custodian=custodian)
        )
    except UsageError as error:
        raise FieldErrors({"custodian" if error.field == "custodian" else "q": str(error)}) from error
    rows = [
        hit.to_json() | {"snippet": [p.model_dump() for p in pieces(hit.snippet, HIGHLIGHT_START, HIGHLIGHT_STOP)]}
        for hit in answer.hits
    ]
    return SearchAnswer.model_validate(
        {
            "hits": rows,
            "items": answer.facets.items,
            "complete": answer.facets.complete,
            "types": [CountByName(name=name, items=count).model_dump() for name, count in answer.facets.types],
            "custodians": [
                CountByName(name=name, items=count).model_dump() for name, count in answer.facets.custodians
            ],
        }
    )
