"""What the product itself writes into a job's list of operator actions: that a production is over, and what it wrote."""

from __future__ import annotations

import json
import socket
import uuid
from typing import TYPE_CHECKING, Any

from core.options.production import JobType, ProductionChoice
from core.records import JobState
from sql.faces.custody import CUSTODY
from sql.faces.production import PRODUCTION

if TYPE_CHECKING:
    from sqlalchemy import Connection

COMPLETED, CANCELLED = "completed", "cancelled"


def note_ended(conn: Connection, job: uuid.UUID, choice: ProductionChoice, state: JobState) -> None:
    """In the transaction that ends it, whose lock on the job's row keeps its actions in one order. Lists of other jobs are
    not written to: whoever has these locked for minutes would hold up the queue manager."""
    if not choice.asked:
        return
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


def ended(conn: Connection, job: uuid.UUID) -> dict[str, Any]:
    """What was written down when it came to its end; nothing of one that did not, or that is older than this."""
    told = (row for row in reversed(CUSTODY.list_actions(conn, job=job)) if row.action in (COMPLETED, CANCELLED))
    return dict(next((row.details for row in told), {}))
