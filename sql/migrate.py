"""Brings a database to the schema of this code. Safe when several processes start together."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from core.errors import UsageError
from sql.session import Database

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK_KEY = 0x65646265_6E636801  # "edbench" 1: held while a schema is changed


def alembic_config(conn: Connection | None = None) -> Config:
    """Alembic's configuration without any alembic.ini; paths may hold spaces and percent signs."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    return config


def migrate(database: Database) -> None:
    """Apply whatever is missing, in one durable transaction.

    Raises UsageError when the schema is newer than this code or the encoding is not UTF8, DatabaseFault when the database cannot be reached.
    """
    with database.transaction(durable=True) as conn:
        encoding = conn.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise UsageError(
                f"database {database.name} has the encoding {encoding}, which cannot hold every name;"
                " make it anew with: createdb --encoding=UTF8 --template=template0"
            )
        # Before the first look at the version: whoever waits here finds the work done.
        conn.exec_driver_sql("SELECT pg_advisory_xact_lock(%(key)s)", {"key": LOCK_KEY})
        config = alembic_config(conn)
        scripts = ScriptDirectory.from_config(config)
        known = {script.revision for script in scripts.walk_revisions()}
        current = MigrationContext.configure(conn).get_current_revision()
        if current is not None and current not in known:
            raise UsageError(
                f"database {database.name} has schema {current}, which this version of edbench does not know;"
                " use the newer version that made it, or another database"
            )
        if current != scripts.get_current_head():
            command.upgrade(config, "head")
