"""Items of a job for the item list: pages of items, the details of one, families."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from controller.browse.item_filter import ItemFilter
from controller.browse.items import item_json
from controller.databases import JobHandle, id_digits
from controller.search.opened import opened_shards
from core.errors import UsageError
from core.names import display_name
from core.settings import Settings
from sql.browse import BROWSE, SEARCH, Member, WholeItem

FAMILY_SHOWN = 2_000


def items_page(
    handles: Sequence[JobHandle], wanted: ItemFilter, *, after: uuid.UUID | None, limit: int
) -> list[dict[str, Any]]:
    """Return at most `limit` items in path order, job by job, starting after the item `after`; keys as in
    `controller.browse.items.FIELDS` and `job`. Raises UsageError if `after` is not an item of these jobs,
    DatabaseFault."""
    begin = 0 if after is None else _position(handles, after)
    out: list[dict[str, Any]] = []
    for number, handle in enumerate(handles[begin:]):
        rest, since = limit - len(out), None if number else after
        with handle.database.transaction() as conn:
            rows = BROWSE.items_page(conn, job=handle.id, after=since, limit=rest, wanted=wanted.parameters())
            out += [item_json(row) | {"job": str(handle.id)} for row in rows]
        if len(out) >= limit:
            break
    return out


def neighbouring_items(
    handles: Sequence[JobHandle], wanted: ItemFilter, item: uuid.UUID
) -> tuple[uuid.UUID | None, uuid.UUID | None]:
    """Return the wanted items before and after this one, in the order of `items_page`; None if there is none. Raises
    UsageError if it is not an item of these jobs, DatabaseFault."""
    here = _position(handles, item)
    return (
        next(_each(handles[here::-1], wanted, item, BROWSE.item_before, last=True), None),
        next(_each(handles[here:], wanted, item, BROWSE.item_after, last=False), None),
    )


def _each(
    handles: Sequence[JobHandle],
    wanted: ItemFilter,
    item: uuid.UUID,
    query: Callable[..., list[uuid.UUID]],
    *,
    last: bool,
) -> Iterator[uuid.UUID]:
    """Yield the neighbours in the item's own job, then of each further job the item nearest to it: its last one with
    `last`, else its first."""
    first, *others = handles
    yield from first.database.ask(query, job=first.id, item=item, wanted=wanted.parameters())
    for handle in others:
        with handle.database.transaction() as conn:
            if last:
                yield from BROWSE.last_item(conn, job=handle.id, wanted=wanted.parameters())
            else:
                rows = BROWSE.items_page(conn, job=handle.id, after=None, limit=1, wanted=wanted.parameters())
                yield from (row.id for row in rows)


def _position(handles: Sequence[JobHandle], item: uuid.UUID) -> int:
    for number, handle in enumerate(handles):
        with handle.database.transaction() as conn:
            if BROWSE.item_whole(conn, job=handle.id, item=item) is not None:
                return number
    raise UsageError(f"there is no item {item} in this job")


def find_item(handles: Sequence[JobHandle], item: uuid.UUID) -> tuple[JobHandle, WholeItem]:
    """Return the job that has the item, and its row; raises UsageError if no job has it."""
    for handle in handles:
        row = handle.database.ask(BROWSE.item_whole, job=handle.id, item=item)
        if row is not None:
            return handle, row
    raise UsageError(f"there is no item {item} in this job")


def item_called(handles: Sequence[JobHandle], reference: str) -> uuid.UUID:
    """Return the item with this id or unambiguous beginning of one, as a search prints it; raises UsageError."""
    if (digits := id_digits(reference)) is None:
        raise UsageError(
            f"{reference[:80]!r} is not an item id; `edbench review search` and `edbench review items -o jsonl` print them"
        )
    low, high = (uuid.UUID(digits.ljust(32, digit)) for digit in "0f")
    found: list[uuid.UUID] = []
    for handle in handles:
        found += handle.database.ask(BROWSE.items_between, job=handle.id, low=low, high=high)
    if len(found) > 1:
        raise UsageError(f"several item ids begin with {reference}; give more digits")
    if not found:
        raise UsageError(f"there is no item {reference} in this job")
    return found[0]


def item_details(handle: JobHandle, row: WholeItem) -> dict[str, Any]:
    """Return everything that is recorded about one item, as plain data."""
    with handle.database.transaction() as conn:
        exceptions = BROWSE.item_exceptions(conn, job=handle.id, item=row.id)
        tags = SEARCH.item_tags(conn, job=handle.id, item=row.id)
    counts = {name: getattr(row, name) for name in ("announced", "emitted", "failed", "remainder_unknown")}
    return item_json(row) | {
        "job": str(handle.id),
        "depth": row.depth,
        "content_hash": _hex(row.content_hash),
        "message_id_hash": _hex(row.message_id_hash),
        "location": None if row.location is None else display_name(bytes(row.location)),
        "path": None if row.path is None else display_name(bytes(row.path)),
        "mtime_ns": row.mtime_ns,
        "metadata": dict(row.metadata or {}),
        "children": None if row.emitted is None else counts,
        "failures": list(map(asdict, exceptions)),
        "tags": list(map(asdict, tags)),
    }


def _hex(value: memoryview | None) -> str | None:
    return None if value is None else value.hex()


def family_tree(handle: JobHandle, row: WholeItem, limit: int = FAMILY_SHOWN) -> dict[str, Any]:
    """Return the containers and parents of the item (outermost first), and its family in path order; for a container
    outside any family its direct children. At most `limit` members; `truncated`: there are more."""
    with handle.database.transaction() as conn:
        above = BROWSE.item_ancestors(conn, job=handle.id, item=row.id)
        below = BROWSE.items_below(conn, job=handle.id, item=row.id, family=row.family_id, limit=limit + 1)
    return {
        "item": str(row.id),
        "family": str(row.family_id) if row.family_id else None,
        "ancestors": [_member(each) for each in above[:-1]],
        "members": [_member(each) for each in below[:limit]],
        "truncated": len(below) > limit,
    }


def _member(row: Member) -> dict[str, Any]:
    return asdict(row) | {"id": str(row.id), "parent": str(row.parent) if row.parent else None}


def item_text(handle: JobHandle, settings: Settings, row: WholeItem) -> str | None:
    """Return the indexed text of an item; None while it has no document.

    Whoosh cannot look up one document by its item, so all of its shard is searched. Raises RunFailed if the shard is
    not on the storage root, StorageFault."""
    if row.shard is None or row.owner is None:
        return None
    with opened_shards(handle, settings, only=row.shard) as readers:
        reader = readers.get(row.shard)
        return None if reader is None else reader.body(row.id, row.owner)
