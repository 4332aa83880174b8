"""Gives back what nobody claimed in time and what nobody holds a lease on any more."""

from __future__ import annotations

import logging

from queue_manager.clock import ClockWatch
from queue_manager.metrics import DatabaseNumbers
from sql import clocks, ledger
from sql.held import HeldConnection

EVERY_SECONDS = 1.0

log = logging.getLogger(__name__)


class Deadlines:
    """Looks at deadlines and leases once a second."""

    def __init__(
        self, held: HeldConnection, database: str, numbers: DatabaseNumbers, clock: ClockWatch | None = None
    ) -> None:
        """`clock`: notices steps of the database's."""
        self._held = held
        self._clock = clock or ClockWatch()
        self._numbers = numbers
        self._database = database
        self._next = 0.0

    def look(self, now: float) -> None:
        """Return expired tasks to pending if a look is due at `now` (monotonic seconds)."""
        if now < self._next:
            return
        self._next = now + EVERY_SECONDS
        with self._held.transaction() as conn:
            step = self._clock.look(conn)
            clocks.fresh_terms(conn)
            returned = ledger.return_expired(conn)
        if step is not None:
            log.warning(
                "database %s: its clock was set %s by %.1f s; leases and elapsed times are corrected for that",
                self._database,
                "forward" if step > 0 else "back",
                abs(step),
            )
        self._numbers.unclaimed += returned.dispatched
        self._numbers.lease_expiries += returned.running
        if returned.dispatched:
            log.warning("database %s: %d messages were not claimed in time", self._database, returned.dispatched)
        if returned.running:
            log.warning("database %s: %d leases ran out; their tasks run again", self._database, returned.running)
