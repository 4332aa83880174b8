"""Writes many rows of one kind with one statement; see `queries/bulk.sql` for the format of the rows."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from core.names import display_name
from core.records import ClaimedTask, Custodian, NewTask, Shard, TaskState
from sql.connection import Connection
from sql.findings import ContainerCount, IndexOwner, Item, ItemException, ItemText
from sql.interface import QUERIES, Query

ROWS_AT_ONCE = 5_000  # bounds the memory of one statement, on both sides


class Origin(NamedTuple):
    """The task and the claim that made a task, as stored in the new task's row."""

    id: uuid.UUID | None
    token: uuid.UUID | None


def storable(text: str) -> str:
    """Text as PostgreSQL can hold it: NUL and lone surrogates become U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {storable(str(k)): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value


def storable_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata as `jsonb` can hold it: NaN and infinities become null; values that JSON does not have become their
    text."""
    try:
        text = json.dumps(metadata)
    except (TypeError, ValueError):  # a handler's slip costs one field its type, not the task
        metadata = json.loads(json.dumps(_clean(metadata), default=str, skipkeys=True))
        text = json.dumps(metadata)
    # \u0000 and surrogates are the only escapes that jsonb refuses; almost no metadata has either.
    if "\\u0000" in text or "\\ud" in text or "NaN" in text or "Infinity" in text:
        cleaned: dict[str, Any] = _clean(metadata)
        return cleaned
    return metadata


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def _id(value: uuid.UUID | None) -> str | None:
    return None if value is None else value.hex


def write_rows(conn: Connection, query: str | Query, rows: Sequence[dict[str, Any]], **parameters: Any) -> None:
    """Run a statement that takes rows as JSON, some at a time."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        text = json.dumps(rows[start : start + ROWS_AT_ONCE], separators=(",", ":"), allow_nan=False)
        (query if isinstance(query, Query) else QUERIES[query]).run(conn, rows=text, **parameters)


def _item_row(item: Item) -> dict[str, Any]:
    return {
        "id": item.id.hex,
        "parent": _id(item.parent),
        "family_id": _id(item.family),
        "custodian": item.custodian,
        "ordinal": item.ordinal.hex(),
        "depth": item.depth,
        "name": item.name.hex(),
        "display": storable(item.container_path[-1] if item.parent else display_name(item.name)),
        "container_path": [storable(part) for part in item.container_path],
        "kind": item.kind.value,
        "container": item.container,
        "media_type": storable(item.media_type),
        "bytes": item.size,
        "sha256": _hex(item.sha256),
        "content_hash": _hex(item.content_hash),
        "message_id_hash": _hex(item.message_id_hash),
        "location": _hex(item.location),
        # A loose file's ordinal is its path relative to the source (core.places).
        "path": item.ordinal.hex() if item.parent is None else None,
        "mtime_ns": item.mtime_ns,
    }


def insert_items(conn: Connection, job: uuid.UUID, items: Iterable[Item]) -> None:
    """Insert items; those that exist already stay as they are."""
    write_rows(conn, "insert_items", [_item_row(item) for item in items], job=job)


def insert_exceptions(conn: Connection, claimed: ClaimedTask, exceptions: Iterable[ItemException]) -> None:
    """Insert the exceptions that were found under one claim."""
    rows = [msgspec.to_builtins(e) | {"detail": storable(e.detail)} for e in exceptions]
    origin = {"job": claimed.job, "phase": claimed.phase.value, "task": claimed.id, "token": claimed.token}
    write_rows(conn, "insert_exceptions", rows, **origin)


def merge_counts(counts: Iterable[ContainerCount]) -> list[ContainerCount]:
    """Merge the counts of each container: the largest known `announced`, the sum of the others."""
    merged: dict[uuid.UUID, ContainerCount] = {}
    for count in counts:
        before = merged.get(count.item)
        if before is not None:
            known = [n for n in (before.announced, count.announced) if n is not None]
            count = msgspec.structs.replace(
                count,
                announced=max(known) if known else None,
                emitted=before.emitted + count.emitted,
                failed=before.failed + count.failed,
                remainder_unknown=before.remainder_unknown or count.remainder_unknown,
            )
        merged[count.item] = count
    return list(merged.values())


def add_containers(conn: Connection, job: uuid.UUID, counts: Iterable[ContainerCount]) -> None:
    """Add to the counts of containers."""
    write_rows(conn, "add_containers", msgspec.to_builtins(merge_counts(counts)), job=job)


def put_texts(conn: Connection, job: uuid.UUID, texts: Iterable[ItemText]) -> None:
    """Set the text states of items."""
    rows = [msgspec.structs.asdict(t) | {"item": t.item.hex, "metadata": storable_metadata(t.metadata)} for t in texts]
    write_rows(conn, "put_texts", rows, job=job)


def put_owners(conn: Connection, claimed: ClaimedTask, owners: Iterable[IndexOwner]) -> None:
    """Set the shard that owns each item's index document, as written under this claim."""
    write_rows(conn, "put_owners", msgspec.to_builtins(list(owners)), job=claimed.job, owner=claimed.owner)


def put_shard(conn: Connection, job: uuid.UUID, shard: Shard) -> None:
    """Insert a shard, or raise its number of documents and its size."""
    QUERIES["put_shard"].run(
        conn,
        shard=shard.id,
        job=job,
        engine=shard.engine,
        location=shard.location,
        documents=shard.documents,
        size=shard.size,
    )


def insert_tasks(
    conn: Connection,
    job: uuid.UUID,
    tasks: Iterable[NewTask],
    origin: ClaimedTask | Origin | None = None,
    state: TaskState = TaskState.PENDING,
) -> None:
    """Insert tasks, pending unless `state` is given; `origin` is the task that made them, if one did.

    A payload must be JSON that `jsonb` can hold: no NUL, no lone surrogate (DataError)."""
    rows = [{"phase": t.phase.value, "weight": t.weight, "payload": t.payload} for t in tasks]
    made_by = (None, None) if origin is None else (origin.id, origin.token)
    write_rows(conn, "insert_tasks", rows, job=job, state=state.value, origin=made_by[0], origin_token=made_by[1])


def insert_custodians(conn: Connection, job: uuid.UUID, custodians: Iterable[Custodian]) -> None:
    """Insert a new job's custodians."""
    rows = [{"number": c.number, "name": c.name.hex(), "display": storable(display_name(c.name))} for c in custodians]
    write_rows(conn, "insert_custodians", rows, job=job)
