"""Items: pages of them, and search."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from controller import findings
from controller.browse.item_filter import ItemFilter, in_language
from controller.browse.items import fields_of, stream_all
from controller.browse.pages import family_tree, find_item, item_details, item_text, items_page, neighbouring_items
from controller.databases import JobHandle, Jobs
from controller.findings import check_findings
from controller.search.answers import Wanted, answer_all
from controller.search.found import HIGHLIGHT_START, HIGHLIGHT_STOP
from controller.search.meaning import meaning, refuse_unknown_filter
from core.document import TEXT
from core.errors import UsageError
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from search.query import Pattern, sought
from search.snippets import marks
from sql.browse import WholeItem
from web.api.exceptions import CSV, csv_answer
from web.api.models.common import CountByName, Filter, responses
from web.api.models.items import (
    Equals,
    Family,
    ItemDetails,
    ItemPage,
    ItemText,
    NearOnes,
    Neighbours,
    SearchAnswer,
    Thread,
)
from web.api.needs import Context, Discovered, pieces
from web.context import WebContext
from web.errors import FieldErrors, NotFound

router = APIRouter(tags=["items"])


def item_filter(
    custodian: Filter = None,
    type: Filter = None,
    exception: Annotated[str | None, Query(max_length=50, pattern=TEXT, description="A code, or `any`.")] = None,
    kind: Kind | None = None,
    text: TextState | None = None,
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
    return ItemFilter(
        custodian=custodian,
        type=type,
        exception=exception,
        kind=kind,
        text_state=text,
        conditions=in_language(language),
        duplicate=duplicate,
        near=near,
        system=system,
    )


Filtered = Annotated[ItemFilter, Depends(item_filter)]


def checked(context: WebContext, jobs: Jobs, wanted: ItemFilter) -> Sequence[JobHandle]:
    """The jobs. Raises UsageError, or FieldErrors if a review that the filter needs has not run."""
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
    return csv_answer(f"items-{jobs.id}", stream_all(handles, wanted), fields_of(handles), raw=raw)


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
        hits, facets = answer_all(
            jobs.each, context.indexes.of, Wanted(query=q, limit=limit, families=families, custodian=custodian)
        )
    except UsageError as error:
        raise FieldErrors({"custodian" if error.field == "custodian" else "q": str(error)}) from error
    rows = [hit.to_json() | {"snippet": pieces(hit.snippet, HIGHLIGHT_START, HIGHLIGHT_STOP)} for hit in hits]
    types, custodians = (
        [CountByName(name=name, items=count) for name, count in of] for of in (facets.types, facets.custodians)
    )
    return SearchAnswer.model_validate(
        {"hits": rows, "items": facets.items, "complete": facets.complete, "types": types, "custodians": custodians}
    )


TEXT_CHARACTERS = 200_000
LOOKED_AHEAD = 4_000_000  # characters after a portion that are searched for the next match
_MOST_MARKS = 5_000  # of a portion


def _found(jobs: Jobs, item: uuid.UUID) -> tuple[JobHandle, WholeItem]:
    try:
        return find_item(jobs.each, item)
    except UsageError as error:
        raise NotFound(str(error)) from error


@router.get("/jobs/{job}/items/{item}", responses=responses(404, 409, 422))
def item(jobs: Discovered, item: uuid.UUID) -> ItemDetails:
    """All fields of one item."""
    return ItemDetails.model_validate(item_details(*_found(jobs, item)))


@router.get("/jobs/{job}/items/{item}/family", responses=responses(404, 409, 422))
def family(jobs: Discovered, item: uuid.UUID) -> Family:
    """The item's family as a tree, and its containers."""
    return Family.model_validate(family_tree(*_found(jobs, item)))


@router.get("/jobs/{job}/items/{item}/neighbours", responses=responses(404, 409, 422))
def neighbours(context: Context, jobs: Discovered, item: uuid.UUID, wanted: Filtered) -> Neighbours:
    """The previous and the next item in the list that passes the filters."""
    handles = checked(context, jobs, wanted)
    try:
        before, after = neighbouring_items(handles, wanted, item)
    except UsageError as error:
        raise NotFound(str(error)) from error
    return Neighbours(previous=before, next=after)


@router.get("/jobs/{job}/items/{item}/duplicates", responses=responses(404, 409, 422))
def item_duplicates(context: Context, jobs: Discovered, item: uuid.UUID) -> Equals:
    """The item and its duplicates, the original first, from the latest `edbench review dedupe` of the job; at most 500. Where
    families were compared, the topmost items of the families that equal the item's."""
    return Equals(equals=findings.equals_of(_found(jobs, item)[0], item, context.databases))


@router.get("/jobs/{job}/items/{item}/near-duplicates", responses=responses(404, 409, 422))
def item_near(context: Context, jobs: Discovered, item: uuid.UUID) -> NearOnes:
    """The item and its near-duplicates, the principal first, from the latest `edbench review near-dup` of the job; at most
    500."""
    return NearOnes(near=findings.near_of(_found(jobs, item)[0], item, context.databases))


@router.get("/jobs/{job}/items/{item}/thread", responses=responses(404, 409, 422))
def item_thread(context: Context, jobs: Discovered, item: uuid.UUID) -> Thread:
    """The thread of a message from the latest `edbench review threads` of the job: each message below the one that it answers,
    siblings by date; the first 500 by date."""
    return Thread(messages=findings.thread_of(_found(jobs, item)[0], item, context.databases))


@router.get("/jobs/{job}/items/{item}/text", responses=responses(404, 409, 422))
def text(
    context: Context,
    jobs: Discovered,
    item: uuid.UUID,
    offset: Annotated[int, Query(ge=0, le=100_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=TEXT_CHARACTERS)] = TEXT_CHARACTERS,
    q: Annotated[
        str, Query(max_length=2_000, pattern=TEXT, description="A search whose words are located in the text.")
    ] = "",
) -> ItemText:
    """The indexed text of the item from `offset`, with the positions of the words of `q`."""
    handle, row = _found(jobs, item)
    patterns = _sought(handle, q)
    whole = item_text(handle, context.settings, row)
    size, end = len(whole or ""), offset + limit
    return ItemText(
        item=item,
        state=None if row.text_state is None else TextState(row.text_state),
        text=None if whole is None else whole[offset:end],
        characters=size,
        offset=offset,
        next=end if end < size else None,
        matches=[
            (first - offset, min(last, end) - offset)
            for first, last in islice(marks(whole or "", patterns, offset, end), _MOST_MARKS)
        ],
        next_match=next((first for first, _ in marks(whole or "", patterns, end, end + LOOKED_AHEAD)), None),
    )


def _sought(handle: JobHandle, query: str) -> Sequence[Pattern]:
    """The patterns of a query. Raises FieldErrors."""
    if not query.strip():
        return ()
    try:
        return tuple(sought(meaning(handle, query)))
    except UsageError as error:
        raise FieldErrors({"q": str(error)}) from error
