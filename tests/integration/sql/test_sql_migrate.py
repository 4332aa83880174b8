"""The schema that migrations make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from core.errors import UsageError
from sql.migrate import alembic_config, migrate, revisions
from sql.models import metadata
from sql.session import Database


def _empty(database: Database) -> None:
    with database.transaction() as conn:
        conn.exec_driver_sql("DROP SCHEMA public CASCADE")
        conn.exec_driver_sql("CREATE SCHEMA public")


def test_migrations_make_exactly_the_models(database: Database) -> None:
    """Promise: what the code believes of the schema and what a fresh database has are the same."""
    with database.transaction() as conn:
        context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        checks = conn.exec_driver_sql("SELECT count(*) FROM pg_constraint WHERE contype = 'c'").scalar_one()
        wanted = sum(
            1 for t in metadata.tables.values() for c in t.constraints if type(c).__name__ == "CheckConstraint"
        )
        partial = conn.exec_driver_sql("SELECT count(*) FROM pg_index WHERE indpred IS NOT NULL").scalar_one()
    assert checks >= wanted > 0  # compare_metadata sees neither check constraints …
    assert partial == sum(  # … nor conditions of indexes
        1 for t in metadata.tables.values() for i in t.indexes if i.dialect_options["postgresql"]["where"] is not None
    )


def test_several_processes_may_start_together(database: Database) -> None:
    """Promise: concurrent first starts migrate once, and none fails."""
    _empty(database)

    def start(number: int) -> None:
        own = Database("db1", database.url)
        try:
            migrate(own)
        finally:
            own.dispose()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(start, range(4))) == [None] * 4
    with database.transaction() as conn:
        assert conn.exec_driver_sql("SELECT count(*) FROM job").scalar_one() == 0


def test_a_newer_schema_is_refused(database: Database) -> None:
    """Promise: old code does not write into a schema it does not know."""
    with database.transaction() as conn:
        conn.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(UsageError, match="newer version"):
        migrate(database)


def test_the_location_may_hold_a_percent_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise: the checkout may lie at a path with spaces and percent signs."""
    monkeypatch.setattr("sql.migrate.MIGRATIONS", "/a b/100%/migrations")
    assert alembic_config().get_main_option("script_location") == "/a b/100%/migrations"


def test_files_are_named_after_their_revisions() -> None:
    """Promise: the revisions read off the file names, at every start, are Alembic's own in its order."""
    scripts = ScriptDirectory.from_config(alembic_config())
    assert revisions() == [script.revision for script in scripts.walk_revisions()][::-1]
    assert revisions()[-1] == scripts.get_current_head()
