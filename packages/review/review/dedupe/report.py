"""What a de-duplication found, one by one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from controller.databases import JobHandle
from controller.findings import ReviewKind, latest
from review.dedupe.run import Duplicates
from review.kinds import By
from sql.review import REVIEW, DuplicateRow
from sql.session import Database

FIELDS = [
    "job",
    "item",
    "original",
    "original_job",
    "duplicate",
    "custodian",
    "container_path",
    "kind",
    "media_type",
    "bytes",
    "sha256",
    "message_hash",
    "message_id_hash",
    "original_path",
    "custodians",
    "duplicates",
]
_ROWS_AT_ONCE = 2_000


def last_dedupe(handles: Sequence[JobHandle], databases: Sequence[Database]) -> Duplicates:
    """The summary of the latest de-duplication of these jobs; see `controller.findings.latest` for what is raised."""
    return Duplicates.model_validate(latest(handles, ReviewKind.DEDUPE, databases).figures)


def stream_duplicates(handles: Sequence[JobHandle], by: By) -> Generator[dict[str, Any], None, None]:
    """Every member of a group of equals with the keys of FIELDS, a group's original first, one job after the other; by
    family the topmost items. Close it if you do not read it to the end. Raises DatabaseFault."""
    for handle in handles:
        with handle.database.transaction() as conn:
            streaming = conn.execution_options(stream_results=True, yield_per=_ROWS_AT_ONCE)
            for row in REVIEW.duplicates(streaming, job=handle.id, families=by is By.FAMILY):
                yield {"job": str(handle.id)} | _plain(row)


def _plain(row: DuplicateRow) -> dict[str, Any]:
    return {
        "item": str(row.item),
        "original": str(row.original),
        "original_job": str(row.original_job),
        "duplicate": row.copy,
        "custodian": row.custodian,
        "container_path": list(row.container_path),
        "kind": row.kind,
        "media_type": row.media_type,
        "bytes": row.bytes,
        "sha256": _hex(row.sha256),
        "message_hash": _hex(row.content_hash),
        "message_id_hash": _hex(row.message_id_hash),
        "original_path": None if row.original_path is None else list(row.original_path),
        "custodians": row.custodians,
        "duplicates": row.copies,
    }


def _hex(value: memoryview | None) -> str | None:
    return None if value is None else value.hex()
