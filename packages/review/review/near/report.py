"""Near-duplicates, one by one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from controller.databases import JobHandle
from controller.findings import ReviewKind, latest
from review.near.run import NearDuplicates
from sql.review import REVIEW
from sql.session import Database

FIELDS = [
    "job",
    "item",
    "principal",
    "principal_job",
    "near",
    "similarity",
    "custodian",
    "container_path",
    "kind",
    "media_type",
    "bytes",
    "principal_path",
    "members",
]
_ROWS_AT_ONCE = 2_000


def last_near(handles: Sequence[JobHandle], databases: Sequence[Database]) -> NearDuplicates:
    """The summary of the latest search for near-duplicates in these jobs; see `controller.findings.latest` for what is raised."""
    return NearDuplicates.model_validate(latest(handles, ReviewKind.NEAR, databases).figures)


def stream_near(handles: Sequence[JobHandle]) -> Generator[dict[str, Any], None, None]:
    """Every member of a group with the keys of FIELDS, its principal first, one job after the other. Close it if you do not
    read it to the end. Raises DatabaseFault."""
    for handle in handles:
        with handle.database.transaction() as conn:
            streaming = conn.execution_options(stream_results=True, yield_per=_ROWS_AT_ONCE)
            for row in REVIEW.near_duplicates(streaming, job=handle.id):
                ids = {name: str(getattr(row, name)) for name in ("item", "principal", "principal_job")}
                yield {"job": str(handle.id)} | row._asdict() | ids
