"""What a DeNIST found, one by one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from controller.databases import JobHandle
from controller.findings import ReviewKind, latest
from review.denist.run import SystemFiles
from sql.review import REVIEW
from sql.session import Database

FIELDS = ["job", "item", "custodian", "container_path", "media_type", "bytes", "sha256", "list"]
_ROWS_AT_ONCE = 2_000


def last_denist(handles: Sequence[JobHandle], databases: Sequence[Database]) -> SystemFiles:
    """The summary of the latest DeNIST of these jobs; see `controller.findings.latest` for what is raised."""
    return SystemFiles.model_validate(latest(handles, ReviewKind.DENIST, databases).figures)


def stream_system_files(handles: Sequence[JobHandle], names: Sequence[str]) -> Generator[dict[str, Any], None, None]:
    """Every flagged item with the keys of FIELDS, in path order, one job after the other; `names` of the lists in order.
    Close it if you do not read it to the end. Raises DatabaseFault."""
    for handle in handles:
        with handle.database.transaction() as conn:
            streaming = conn.execution_options(stream_results=True, yield_per=_ROWS_AT_ONCE)
            for row in REVIEW.system_files(streaming, job=handle.id):
                yield {
                    "job": str(handle.id),
                    "item": str(row.id),
                    "custodian": row.custodian,
                    "container_path": list(row.container_path),
                    "media_type": row.media_type,
                    "bytes": row.bytes,
                    "sha256": None if row.sha256 is None else row.sha256.hex(),
                    "list": names[row.number],
                }
