"""Tags of items, and searches saved by name; every change is recorded with its user and time."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from pydantic import Field

from controller.custody import note, operator
from controller.databases import JobHandle
from controller.search.meaning import meaning, refuse_unknown
from controller.search.opened import Opened
from core.document import Document
from core.errors import UsageError
from core.job_types import registered
from search.language import checked_name, parse
from search.query import Node
from sql.browse import SEARCH, Search, Tag
from sql.connection import Connection

_AT_ONCE = 10_000
SAVED, FORGOTTEN, TAGGED, UNTAGGED = "search saved", "search forgotten", "tagged", "untagged"


class TagChange(Document):
    """The outcome of tagging."""

    tag: str
    found: int = Field(description="Items that the query found, with their families if requested.")
    changed: int = Field(description="Items that got the tag, or lost it.")
    unaware: list[uuid.UUID] = Field(
        [], description="Unfinished jobs that select by this tag and chose their items before this change."
    )


def tag_found(
    handles: Sequence[JobHandle],
    opened: Opened,
    tag: str,
    query: str,
    *,
    families: bool = False,
    remove: bool = False,
) -> TagChange:
    """Add the tag to the items that the query finds, or remove it; with whole families if wanted. One durable
    transaction for each job. Raises UsageError, also for a tag in the query that no item has; RunFailed, faults."""
    checked_name(tag, "a tag")
    meant = [meaning(handle, query) for handle in handles]
    refuse_unknown(handles, meant)
    found = changed = 0
    for handle, node in zip(handles, meant, strict=True):
        items = _found(handle, opened, node, families=families)
        with handle.database.transaction(durable=True) as conn:
            here = sum(_tag(conn, handle.id, tag, some, remove) for some in _portions(items))
            action = UNTAGGED if remove else TAGGED
            note(conn, handle.id, action, tag=tag, query=query, families=families, found=len(items), changed=here)
        found, changed = found + len(items), changed + here
    return _changed(handles, tag, found, changed)


def tag_items(
    handles: Sequence[JobHandle],
    tag: str,
    items: Sequence[uuid.UUID],
    *,
    families: bool = False,
    remove: bool = False,
) -> TagChange:
    """Add the tag to these items, or remove it, as `tag_found`; raises UsageError also if none of the jobs has one of
    them."""
    checked_name(tag, "a tag")
    found = changed = 0
    for handle, there in _there(handles, items):
        with handle.database.transaction(durable=True) as conn:
            whole = SEARCH.items_there(conn, job=handle.id, items=there, families=families)
            here = sum(_tag(conn, handle.id, tag, some, remove) for some in _portions(whole))
            action = UNTAGGED if remove else TAGGED
            ids = [str(item) for item in there]
            note(conn, handle.id, action, tag=tag, items=ids, families=families, found=len(whole), changed=here)
        found, changed = found + len(whole), changed + here
    return _changed(handles, tag, found, changed)


def _changed(handles: Sequence[JobHandle], tag: str, found: int, changed: int) -> TagChange:
    unaware: dict[uuid.UUID, None] = {}
    for handle in handles if changed else ():
        with handle.database.transaction() as conn:
            for types in registered().values():
                unaware.update(dict.fromkeys(types.unaware(conn, handle.id, tag)))
    return TagChange(tag=tag, found=found, changed=changed, unaware=list(unaware))


def _there(handles: Sequence[JobHandle], items: Sequence[uuid.UUID]) -> list[tuple[JobHandle, list[uuid.UUID]]]:
    """Return the jobs that have some of the items, with those items. Raises UsageError if none has one of them."""
    out = []
    for handle in handles:
        there = handle.database.ask(SEARCH.items_there, job=handle.id, items=list(items), families=False)
        if there:
            out.append((handle, there))
    missing = len(set(items)) - sum(len(there) for _, there in out)
    if missing:
        raise UsageError(f"{missing} of these items are not in this job", field="items")
    return out


def _tag(conn: Connection, job: uuid.UUID, tag: str, items: Sequence[uuid.UUID], remove: bool) -> int:
    if remove:
        return SEARCH.remove_tag(conn, job=job, tag=tag, items=items)
    return SEARCH.add_tag(conn, job=job, tag=tag, items=items, who=operator())


def _portions(items: list[uuid.UUID]) -> list[list[uuid.UUID]]:
    return [items[at : at + _AT_ONCE] for at in range(0, len(items), _AT_ONCE)]


def _found(handle: JobHandle, opened: Opened, node: Node, *, families: bool) -> list[uuid.UUID]:
    from controller.search.evaluate import Evaluation  # numbers in rows: lists of tags and searches need none
    from search.found import uuids

    with opened(handle) as index:
        mask = Evaluation(index).mask(node)
        items = index.items
    return uuids(items.ids[items.with_families(mask) if families else mask])


def save_search(handles: Sequence[JobHandle], name: str, query: str) -> None:
    """Save a query under a name, in every job. Raises UsageError for a query with a syntax error, DatabaseFault."""
    checked_name(name, "a saved search")
    parse(query)
    for handle in handles:
        with handle.database.transaction(durable=True) as conn:
            SEARCH.put_search(conn, job=handle.id, name=name, query=query, who=operator())
            note(conn, handle.id, SAVED, name=name, query=query)


def forget_search(handles: Sequence[JobHandle], name: str) -> None:
    """Delete a saved search from every job; raises UsageError if no job has it."""
    gone = 0
    for handle in handles:
        with handle.database.transaction(durable=True) as conn:
            here = SEARCH.remove_search(conn, job=handle.id, name=name)
            if here:
                note(conn, handle.id, FORGOTTEN, name=name)
            gone += here
    if not gone:
        raise UsageError(f"there is no saved search {name[:120]!r}")


def tags_of(handles: Sequence[JobHandle]) -> list[Tag]:
    """Return the tags of all jobs, by name."""
    out: dict[str, Tag] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for row in SEARCH.list_tags(conn, job=handle.id):
                so_far = out.get(row.tag)
                out[row.tag] = Tag(
                    tag=row.tag,
                    items=row.items + (so_far.items if so_far else 0),
                    first_at=min(row.first_at, so_far.first_at) if so_far else row.first_at,
                    last_at=max(row.last_at, so_far.last_at) if so_far else row.last_at,
                )
    return [out[name] for name in sorted(out)]


def searches_of(handles: Sequence[JobHandle]) -> list[Search]:
    """Return the saved searches, by name; jobs of a group have the same ones."""
    out: dict[str, Search] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for row in SEARCH.list_searches(conn, job=handle.id):
                out[row.name] = row
    return [out[name] for name in sorted(out)]
