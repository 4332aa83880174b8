"""One item: details, family, text, neighbours in a list, (near-)duplicates, thread."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query

from controller import findings
from controller.browse.pages import family_tree, find_item, item_details, items_beside
from controller.browse.texts import item_text
from controller.databases import JobHandle, Jobs
from controller.search.meaning import meaning
from core.document import TEXT
from core.errors import UsageError
from readers.records import TextState
from search.query import Pattern, sought
from search.snippets import marks
from sql.faces.browse import WholeItem
from web.api.items import Filtered, checked
from web.api.models.common import responses
from web.api.models.items import Equals, Family, ItemDetails, ItemText, NearOnes, Neighbours, Thread
from web.api.needs import Context, Discovered
from web.errors import FieldErrors, NotFound

TEXT_CHARACTERS = 200_000
LOOKED_AHEAD = 4_000_000  # characters after a portion that are searched for the next match
_MOST_MARKS = 5_000  # of a portion

router = APIRouter(tags=["items"])


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
        before, after = items_beside(handles, wanted, item)
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
