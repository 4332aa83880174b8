"""A clock that can be set, in the databases of a campaign: only the ledger's statements go by it, no clock of a machine is
touched.

A schema `chaos` stands before `pg_catalog` in the search path of the campaign's databases and holds `clock_timestamp()`
and `now()` of its own, which add what a table says.
"""

from __future__ import annotations

from sql.faces.verify import VERIFY
from sql.session import Database


def lay_clock(database: Database) -> None:
    """Put the clock there; sessions that connect from now on go by it. Raises DatabaseFault."""
    with database.transaction(durable=True) as conn:
        VERIFY.chaos_clock(conn)
        name = conn.exec_driver_sql("SELECT current_database()").scalar_one()
        conn.exec_driver_sql(f'ALTER DATABASE "{name}" SET search_path = chaos, pg_catalog, public')
    database.dispose()


def step(database: Database, seconds: float) -> None:
    """So far from the machine's clock it is from now on. Raises DatabaseFault."""
    with database.transaction(durable=True) as conn:
        VERIFY.chaos_step(conn, seconds=seconds)
