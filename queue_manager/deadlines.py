"""Gives back what nobody claimed in time and what nobody holds a lease on any more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from sqlalchemy import Connection

from queue_manager.metrics import DatabaseNumbers
from sql import clocks, ledger
from sql.held import HeldConnection

STEP_SECONDS = 1.0  # less is the difference of two clocks that are both right, or the way to the database and back


class ClockWatch:
    """Compares the two clocks at every look."""

    def __init__(
        self,
        read: Callable[[Connection], float] = clocks.now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`read` gives the database's clock."""
        self._read = read
        self._monotonic = monotonic
        self._before: tuple[float, float] | None = None  # bounds of the difference between the two
        self._at = 0.0

    def look(self, conn: Connection) -> float | None:
        """Seconds by which the database's clock was stepped since the last look; None when it was not."""
        asked = self._monotonic()
        shown = self._read(conn)
        answered = self._monotonic()
        now = (shown - answered, shown - asked)
        before, self._before = self._before, now
        if before is None or (now[0] <= before[1] + STEP_SECONDS and before[0] <= now[1] + STEP_SECONDS):
            self._at = answered
            return None
        window, self._at = answered - self._at, answered
        by = (sum(now) - sum(before)) / 2
        clocks.stepped(conn, by, window)
        return by


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
