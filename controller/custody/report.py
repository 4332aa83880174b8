"""What was read of each item of a job, and what was done to the job: one record a line, read some at a time."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from controller.custody.actions import actions_of
from controller.databases import JobHandle
from formats.registry import handler_for
from sql.faces.custody import CUSTODY, CustodyRow

_AT_ONCE = 2_000


def items_of(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Every item: its hashes when it was read, the parser that this installation has for its type (which one read it is not
    kept), the task that took its text and the version of that task's worker. None where nothing is known. No transaction is
    open between two portions."""
    for handle in handles:
        after = uuid.UUID(int=0)
        while True:
            with handle.database.transaction() as conn:
                rows = CUSTODY.custody_items(conn, job=handle.id, after=after, limit=_AT_ONCE)
            yield from (_item(handle, row) for row in rows)
            if len(rows) < _AT_ONCE:
                break
            after = rows[-1].id


def _item(handle: JobHandle, row: CustodyRow) -> dict[str, Any]:
    return {
        "record": "item",
        "job": str(handle.id),
        "item": str(row.id),
        "custodian": row.custodian,
        "path": row.container_path,
        "kind": row.kind,
        "media_type": row.media_type,
        "bytes": row.bytes,
        "sha256": _hex(row.sha256),
        "content_hash": _hex(row.content_hash),
        "message_id_hash": _hex(row.message_id_hash),
        "parser": handler_for(row.media_type).name,
        "text_state": row.text_state,
        "exceptions": row.codes or [],
        "task": None if row.task is None else str(row.task),
        "phase": row.phase,
        "worker": row.worker,
        "version": row.version,
        "at": None if row.finished_at is None else row.finished_at.isoformat(),
    }


def _hex(value: memoryview | None) -> str | None:
    return None if value is None else bytes(value).hex()


def actions_told(handles: Sequence[JobHandle]) -> Iterator[dict[str, Any]]:
    """Every operator action, job by job in the order of its chain."""
    for handle in handles:
        for action in actions_of([handle]):
            yield {"record": "action", "job": str(handle.id)} | action.to_json()
