"""What is written down of a production when it is created: all that it was told, the numbers that its items have, and by
which finding of duplicates it goes."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from sqlalchemy import Connection

from core.errors import UsageError
from core.options.production import ProductionChoice
from sql.faces.review import REVIEW
from sql.producing.custody import numbers_told

_DEDUPE = "dedupe"  # the kind of that finding
_BESIDE = ("type", "sources")  # stand beside it


def told_of(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> dict[str, Any]:
    """Of a job whose items are in the database; a processing job's pages have no numbers yet."""
    said = {name: value for name, value in dataclasses.asdict(choice).items() if name not in _BESIDE}
    return said | numbers_told(conn, job, choice) | {"extras": dict(choice.extras)}


def refuse_other_findings(conn: Connection, choice: ProductionChoice) -> None:
    """With the rows of its sources locked. Raises UsageError where one was looked through for duplicates since the items
    were chosen."""
    for source, finding in zip(choice.sources, choice.findings, strict=False):
        row = REVIEW.get_review(conn, job=uuid.UUID(source), kind=_DEDUPE)
        if finding and (row is None or row.token.hex != finding):
            raise UsageError(f"job {uuid.UUID(source)} got new duplicate findings meanwhile; run the command again")
