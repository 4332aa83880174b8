"""What the product itself writes into a job's list of operator actions: that a production is over, and what it wrote."""

from __future__ import annotations

import json
import socket
import uuid
from typing import TYPE_CHECKING, Any

from core.job_types import JobType
from core.options.production import ProductionChoice
from core.records import JobState
from sql.dependents import CANCELLED, COMPLETED
from sql.faces.custody import CUSTODY
from sql.faces.production import PRODUCTION

if TYPE_CHECKING:
    from sqlalchemy import Connection


def note_ended(conn: Connection, job: uuid.UUID, choice: ProductionChoice, state: JobState) -> None:
    """In the transaction that ends it, whose lock on the job's row keeps its actions in one order. Lists of other jobs are
    not written to: whoever has these locked for minutes would hold up the queue manager."""
    action = CANCELLED if state is JobState.CANCELLED else COMPLETED
    details: dict[str, Any] = {"state": state} | PRODUCTION.production_ended(conn, job=job)._asdict()
    details |= numbers_told(conn, job, choice)
    CUSTODY.note_action(
        conn, job=job, who=f"queue manager@{socket.gethostname()}", action=action, details=json.dumps(details)
    )


def numbers_told(conn: Connection, job: uuid.UUID, choice: ProductionChoice) -> dict[str, list[str]]:
    """The first number that it has given and the last. Of a processing job whose pages were not counted yet items have numbers,
    which nobody sees."""
    numbers = PRODUCTION.production_range(conn, job=job)
    if numbers.first is None or numbers.last is None or (choice.type is JobType.PROCESSING and not numbers.paged):
        return {}
    return {"numbers": [choice.control(numbers.first), choice.control(numbers.last)]}
