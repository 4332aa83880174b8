"""Search: the hits, page by page, and actions on them; one item with its text, its family and the next hit."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from controller.databases import Jobs
from core.errors import RunFailed, UsageError
from sql.browse import Member
from web.api import items
from web.api import jobs as jobs_api
from web.api import named as named_api
from web.api.models.items import Equals, Family, ItemText, NearOnes, SearchAnswer, Thread
from web.api.needs import Context, Discovered, Found, Rows, cut
from web.context import WebContext
from web.errors import FieldErrors
from web.pages.items import Chosen, filter_of, given_of
from web.pages.render import page, pairs_of

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
    """The hits with their snippets, and counts of all."""
    answer: SearchAnswer | None = None
    wrong = ""
    status = 200
    if q.strip():
        try:
            answer = items.search(context, jobs, q=q.replace("\0", " "), limit=number * HITS, families=families)
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


CHILDREN_SHOWN = 100  # of each parent; the item shown is always one of them


@dataclass(slots=True)
class Node:
    """One item with its children."""

    item: Member
    children: list[Node] = field(default_factory=list)
    more: int = 0  # children that are not drawn


def tree(family: Family) -> list[Node]:
    """The outermost items, usually one, with all nodes below them."""
    nodes = {member.id: Node(member) for member in (*family.ancestors, *family.members)}
    roots: list[Node] = []
    for node in nodes.values():
        parent = nodes.get(node.item.parent) if node.item.parent else None
        (roots if parent is None else parent.children).append(node)
    for node in nodes.values():
        _shorten(node, family.item, {each.id for each in family.ancestors})
    return roots


def _shorten(node: Node, about: uuid.UUID, above: set[uuid.UUID]) -> None:
    shown = [
        child
        for number, child in enumerate(node.children)
        if number < CHILDREN_SHOWN or child.item.id == about or child.item.id in above
    ]
    node.more = len(node.children) - len(shown)
    node.children = shown


TEXT_SHOWN = 20_000  # characters of an item's text in a portion
_MOST_RANK = 998

T = TypeVar("T", Equals, NearOnes, Thread)


Rank = Annotated[int | None, Query(ge=0, le=_MOST_RANK, description="Its position among the hits.")]


@router.get("/jobs/{job}/items/{item}")
def one_item(
    request: Request,
    context: Context,
    rows: Rows,
    jobs: Discovered,
    item: uuid.UUID,
    chosen: Chosen,
    q: Annotated[str, Query(max_length=2_000)] = "",
    families: bool = False,
    at: Rank = None,
    offset: Annotated[int, Query(ge=0, le=100_000_000)] = 0,
) -> Response:
    """One item."""
    details = items.item(jobs, item)
    family = items.family(jobs, item)
    q = q.replace("\0", " ").strip()
    text, no_text = _text(context, jobs, item, offset, q)
    job = jobs_api.one_job(context, rows, jobs)
    given = given_of(chosen)
    carried_on = {"q": q} | ({"families": "true"} if families else {}) if q else given
    way = _in_search(context, jobs, item, carried_on, at) if q else _in_list(context, jobs, item, given)
    return page(
        request,
        "item.html",
        job=job,
        item=details,
        pairs=pairs_of(details),
        roots=tree(family),
        truncated=family.truncated,
        text=text,
        pieces=cut(text.text or "", text.matches) if text else [],
        no_text=no_text,
        portion=TEXT_SHOWN,
        way=way,
        q=q,
        carried=urlencode(carried_on | ({} if at is None else {"at": at})),
        marked=f"?{urlencode({'q': q})}" if q else "",
        equals=_known(items.item_duplicates, context, jobs, item),
        near=_known(items.item_near, context, jobs, item),
        thread=_known(items.item_thread, context, jobs, item),
    )


def _text(context: Context, jobs: Found, item: uuid.UUID, offset: int, q: str) -> tuple[ItemText | None, str]:
    """A portion of the text, or None and the reason."""
    try:
        return items.text(context, jobs, item, offset=offset, limit=TEXT_SHOWN, q=q), ""
    except FieldErrors:  # a query that cannot be read marks nothing
        return items.text(context, jobs, item, offset=offset, limit=TEXT_SHOWN), ""
    except RunFailed as error:  # such as no index yet: the rest of the page works
        return None, str(error)


def _known(ask: Callable[[WebContext, Jobs, uuid.UUID], T], context: Context, jobs: Found, item: uuid.UUID) -> T | None:
    """The outcome of a review for an item; None if the review has not run, or is out of date."""
    try:
        return ask(context, jobs, item)
    except UsageError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Links back to the list or search, and to the neighbouring items in it."""

    words: str
    back: str
    before: str | None
    after: str | None


def _in_list(context: Context, jobs: Found, item: uuid.UUID, given: dict[str, str]) -> Way:
    """The way among the items that pass the filters."""
    here, carried_on = f"/jobs/{jobs.id}/items", f"?{urlencode(given)}" if given else ""
    try:
        around = items.neighbours(context, jobs, item, filter_of(given))
    except (FieldErrors, UsageError):  # the list shows what is wrong
        return Way(words="items", back=here + carried_on, before=None, after=None)
    sides = [None if one is None else f"{here}/{one}{carried_on}" for one in (around.previous, around.next)]
    return Way(words="these items" if given else "items", back=here + carried_on, before=sides[0], after=sides[1])


def _in_search(context: Context, jobs: Found, item: uuid.UUID, carried_on: dict[str, str], at: int | None) -> Way:
    """The way among the hits, from a place there; without one, or if the hits have changed, only back."""
    page = {} if not at else {"page": at // HITS + 1}
    back = f"/jobs/{jobs.id}/search?{urlencode(carried_on | page)}"
    if at is None:
        return Way(words="search", back=back, before=None, after=None)
    carried_on_for = at + 2  # up to the next one
    try:
        hits = items.search(
            context, jobs, q=carried_on["q"], limit=carried_on_for, families="families" in carried_on
        ).hits
    except (FieldErrors, RunFailed):
        hits = []
    if at >= len(hits) or hits[at].item != item:
        return Way(words="search", back=back, before=None, after=None)

    def link(rank: int) -> str | None:
        if not 0 <= rank < min(len(hits), _MOST_RANK):
            return None
        return f"/jobs/{jobs.id}/items/{hits[rank].item}?{urlencode(carried_on | {'at': rank})}"

    return Way(words="search", back=back, before=link(at - 1), after=link(at + 1))
