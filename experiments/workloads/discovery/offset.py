"""How far a database's clock is from this host's."""

from __future__ import annotations

import time

from sql.faces.runs import RUNS
from sql.session import Database

_TRIES = 5


def clock_offset(database: Database) -> float:
    """The database's clock less this host's, seconds; of several tries the one with the shortest way, so it is off by
    at most half of that. Raises DatabaseFault."""
    best: tuple[float, float] | None = None
    with database.transaction() as conn:
        for _ in range(_TRIES):
            before = time.time()
            there = RUNS.clock_now(conn)
            after = time.time()
            measured = (after - before, there - (before + after) / 2)
            best = measured if best is None else min(best, measured)
    assert best is not None
    return round(best[1], 6)
