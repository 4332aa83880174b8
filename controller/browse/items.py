"""Every item of a job, streamed; the fields of `edbench review items`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from controller.browse.item_filter import ALL_ITEMS, ItemFilter
from controller.databases import JobHandle
from core.names import display_name, json_name
from sql.browse import BROWSE, ItemRow

FIELDS = [
    "id",
    "parent",
    "family",
    "custodian",
    "container_path",
    "kind",
    "container",
    "media_type",
    "bytes",
    "sha256",
    "text_state",
    "characters",
    "pages",
    "shard",
    "exceptions",
    "name",
    "name_b64",
]
ORIGIN = ["database", "job"]  # first, if items of several jobs are listed together
_ROWS_AT_ONCE = 2_000


def stream_items(handle: JobHandle, wanted: ItemFilter = ALL_ITEMS) -> Generator[dict[str, Any], None, None]:
    """Yield a dict for each wanted item with the keys of FIELDS (`name_b64` only if the name's display text is lossy),
    in path order.

    Rows come through a server-side cursor, so memory does not grow with the job. Close the generator if you do not read
    it to the end: it holds a transaction. Raises DatabaseFault."""
    with handle.database.transaction() as conn:
        streaming = conn.streaming(_ROWS_AT_ONCE)
        for row in BROWSE.items(streaming, job=handle.id, wanted=wanted.parameters()):
            yield item_json(row)


def stream_all(handles: Sequence[JobHandle], wanted: ItemFilter = ALL_ITEMS) -> Generator[dict[str, Any], None, None]:
    """Yield the wanted items of several jobs, job by job, each also with the keys of ORIGIN; see `stream_items`."""
    for handle in handles:
        origin = {"database": handle.database.name, "job": str(handle.id)} if len(handles) > 1 else {}
        with closing(stream_items(handle, wanted)) as rows:
            for item in rows:
                yield origin | item


def fields_of(handles: Sequence[JobHandle]) -> list[str]:
    """Return the keys of the dicts of `stream_all`, in order."""
    return [*ORIGIN, *FIELDS] if len(handles) > 1 else FIELDS


def item_json(row: ItemRow) -> dict[str, Any]:
    """Return the item as plain data."""
    return {
        "id": str(row.id),
        "parent": str(row.parent) if row.parent else None,
        "family": str(row.family_id) if row.family_id else None,
        "custodian": display_name(bytes(row.custodian)),
        "container_path": list(row.container_path),
        "kind": row.kind,
        "container": row.container,
        "media_type": row.media_type,
        "bytes": row.bytes,
        "sha256": bytes(row.sha256).hex() if row.sha256 is not None else None,
        "text_state": row.text_state,
        "characters": row.characters,
        "pages": row.pages,
        "shard": str(row.shard) if row.shard else None,
        "exceptions": list(row.codes or ()),
    } | json_name(bytes(row.name))
