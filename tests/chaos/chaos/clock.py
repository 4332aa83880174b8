"""A clock that can be set, in the databases of a campaign: only the ledger's statements go by it, no clock of a machine
is touched.

A schema `chaos` stands before `pg_catalog` in the search path of the campaign's databases and holds `clock_timestamp()`
and `now()` of its own, which add what a table says."""

from pathlib import Path

from sql.interface import parse_queries
from sql.session import Database

_FILE = Path(__file__).with_name("chaos.sql")
QUERIES = {query.name: query for query in parse_queries(_FILE.read_text(encoding="utf-8"), _FILE.name)}


def lay_clock(database: Database) -> None:
    """Put the clock there; sessions that connect from now on go by it. Raises DatabaseFault."""
    with database.transaction(durable=True) as conn:
        QUERIES["clock"].run(conn)
        name = conn.execute("SELECT current_database()").scalar_one()
        conn.execute(f'ALTER DATABASE "{name}" SET search_path = chaos, pg_catalog, public')
    database.dispose()


def step(database: Database, seconds: float) -> None:
    """So far from the machine's clock it is from now on. Raises DatabaseFault."""
    with database.transaction(durable=True) as conn:
        QUERIES["step"].run(conn, seconds=seconds)
