"""Changes phases and settles pauses and cancellations; only the queue manager does, on its locked connection."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from core.errors import UsageError
from core.moments import reached
from core.records import JobState
from sql import states
from sql.held import HeldConnection
from sql.states import Demand

log = logging.getLogger(__name__)


def _due(demand: Demand) -> bool:
    """Whether a look under the job's lock can change anything; the lock decides, this only spares locking."""
    if demand.state is JobState.RUNNING:
        return not (demand.dispatched or demand.running or demand.pending)
    return bool(demand.dispatched) or not demand.running


def cross(held: HeldConnection, demands: Sequence[Demand]) -> bool:
    """Advance or settle every job that is due, each in a durable transaction; whether any changed."""
    changed = False
    for demand in filter(_due, demands):
        try:
            reached("barrier")
            with held.transaction(durable=True) as conn:
                if demand.state is JobState.RUNNING:
                    now = states.advance(conn, demand.job)
                else:
                    now = states.settle(conn, demand.job)
        except UsageError:  # deleted since the look
            continue
        reached("crossed")
        if now is not None and now is not demand.state:
            log.info("job %s: %s", demand.job, now)
            changed = True
    return changed
