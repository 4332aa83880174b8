"""What follows for the ledger when the database's clock is stepped. Every function works in the caller's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sql.queries import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


def now(conn: Connection) -> float:
    """The database's clock, seconds since the epoch."""
    return float(QUERIES["database_clock"].run(conn).scalar_one())


def fresh_terms(conn: Connection, *, stepped: bool = False) -> int:
    """Give a whole term from now to deadlines and leases that were set by another clock than today's; how many.

    `stepped`: the clock was put forward or back just now, so that what seems to have run out may not have.
    """
    return QUERIES["fresh_terms"].run(conn, stepped=stepped).rowcount


def stepped(conn: Connection, by: float, window: float) -> None:
    """The clock was put forward (back: negative) `by` seconds within the last `window`: everything that is measured
    from a time that was noted before goes on as if it had not been."""
    fresh_terms(conn, stepped=True)
    QUERIES["move_clocks"].run(conn, by=by, window=window)
    QUERIES["unsee_workers"].run(conn)
