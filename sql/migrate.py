"""Brings a database to the schema of this code. Safe when several processes start together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import DatabaseFault, UsageError
from sql.grants import renew_grants
from sql.session import Database

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSIONS = Path(__file__).parent / "migrations" / "versions"
LOCK_KEY = 0x65646265_6E636801  # "edbench" 1: held while a schema is changed


def revisions() -> list[str]:
    """Every revision that this code knows, oldest first: a migration's file name begins with its own."""
    return sorted(path.name.partition("_")[0] for path in VERSIONS.glob("[0-9]*_*.py"))


def is_current(database: Database) -> bool:
    """Whether it has the schema of this code. Raises DatabaseFault."""
    with database.transaction() as conn:
        return _current(conn) == revisions()[-1]


def migrate(database: Database) -> None:
    """Apply whatever is missing, in one durable transaction.

    Raises UsageError when the schema is newer than this code or the encoding is not UTF8, DatabaseFault when the
    database cannot be reached, or something is missing and this login may not make it.
    """
    with database.transaction(durable=True) as conn:
        encoding = conn.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise UsageError(
                f"database {database.name} has the encoding {encoding}, which cannot store every name;"
                " create it with: createdb --encoding=UTF8 --template=template0"
            )
        # Before the first look at the version: whoever waits here finds the work done.
        conn.exec_driver_sql("SELECT pg_advisory_xact_lock(%(key)s)", {"key": LOCK_KEY})
        known, current = revisions(), _current(conn)
        if current is not None and current not in known:
            raise UsageError(
                f"database {database.name} has schema {current}, which this version of edbench does not know;"
                " use the newer version that created it, or another database"
            )
        if not conn.exec_driver_sql("SELECT has_schema_privilege('public', 'CREATE')").scalar_one():
            if current != known[-1]:
                raise DatabaseFault(
                    f"database {database.name} is not migrated to this version; start the controller, or run any edbench"
                    " command as its owner",
                    transient=True,
                )
            return  # a role that works with the tables and makes none
        if current != known[-1]:
            from sql.migrations.upgrade import upgrade  # brings Alembic, and nearly every start finds nothing to do

            upgrade(conn)
        renew_grants(conn)


def _current(conn: Connection) -> str | None:
    """The schema's revision; None for a fresh database."""
    if conn.exec_driver_sql("SELECT to_regclass('alembic_version')").scalar_one() is None:
        return None
    revision: str | None = conn.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one_or_none()
    return revision
