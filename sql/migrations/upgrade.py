"""Runs the migrations that a database lacks, by Alembic; apart, because it is imported by few starts and costs time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config

if TYPE_CHECKING:
    from sqlalchemy import Connection

MIGRATIONS = Path(__file__).parent


def alembic_config(conn: Connection | None = None) -> Config:
    """Alembic's configuration without any alembic.ini; paths may hold spaces and percent signs."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    return config


def upgrade(conn: Connection) -> None:
    """Bring the schema to the newest revision, in the caller's transaction."""
    command.upgrade(alembic_config(conn), "head")
