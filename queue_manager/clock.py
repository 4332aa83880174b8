"""Notices when a database's clock is stepped, by a clock of our own that never is.

A step back of an hour would freeze every lease for an hour, a step forward would end them all, and either would be
added to the time that a job took.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlalchemy import Connection

from sql import clocks

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
