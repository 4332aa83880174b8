"""The schema that migrations make."""

from __future__ import annotations

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg2
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from servers import OWNER, as_role

from core.errors import DatabaseFault, UsageError
from core.roles import QUEUE_MANAGER, WORKER
from core.services import superuser_url
from core.settings import Settings
from sql.migrate import GRANTS, VERSION_TABLE, alembic_config, migrate, revisions, upgrade
from sql.models import metadata
from sql.session import Database


def _empty(database: Database) -> None:
    with database.transaction() as conn:
        conn.exec_driver_sql("DROP SCHEMA public CASCADE")
        conn.exec_driver_sql("CREATE SCHEMA public")


@pytest.mark.parametrize("migrated", [False, True], ids=["fresh", "migrated"])
def test_migrations_make_exactly_the_models(database: Database, migrated: bool) -> None:
    """What the code expects of the schema is what a fresh database has, and what all migrations in turn make."""
    if migrated:
        _empty(database)
        with database.transaction() as conn:
            upgrade(conn)
    with database.transaction() as conn:
        assert conn.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").scalars().all() == [revisions()[-1]]
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


def test_another_encoding_than_utf8_is_refused(services: Settings) -> None:
    """Jobs over such a database would fail in the middle, at the first name that is not ASCII."""
    url = services.databases[0].url
    name = f"test_{uuid.uuid4().hex}"
    connection = psycopg2.connect(superuser_url(services.scratch))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0 OWNER {OWNER}"
        )
    database = Database("db7", url.replace("/db1?", f"/{name}?"))
    try:
        with pytest.raises(UsageError, match=r"db7 has the encoding SQL_ASCII.*--encoding=UTF8"):
            migrate(database)
    finally:
        database.dispose()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.close()


_PRIVILEGES = (
    "SELECT count(*) FROM information_schema.table_privileges WHERE grantee LIKE 'edbench\\_%%' AND table_name = %(table)s"
    " AND grantee <> 'edbench_controller'"
)


def test_every_table_says_who_may_use_it() -> None:
    """Promise: a new table is granted to nobody by oversight, nor refused to a part that needs it: it is named here."""
    assert set(GRANTS) == {*metadata.tables, VERSION_TABLE}


def test_rights_that_were_not_declared_are_taken_back(database: Database) -> None:
    """Promise: whatever somebody granted by hand, or an earlier version did, the next start sets right."""
    with database.transaction() as conn:
        before = conn.exec_driver_sql(_PRIVILEGES, {"table": "item"}).scalar_one()
        conn.exec_driver_sql("GRANT DELETE ON item TO edbench_worker")
        conn.exec_driver_sql("GRANT UPDATE (options) ON job TO edbench_queue_manager")
        conn.exec_driver_sql("REVOKE SELECT ON task FROM edbench_worker")
    migrate(database)
    with database.transaction() as conn:
        assert conn.exec_driver_sql(_PRIVILEGES, {"table": "item"}).scalar_one() == before
        look = "SELECT has_column_privilege(%(role)s, 'job', 'options', 'UPDATE')"
        assert not conn.exec_driver_sql(look, {"role": "edbench_queue_manager"}).scalar_one()
        assert conn.exec_driver_sql("SELECT has_table_privilege('edbench_worker', 'task', 'SELECT')").scalar_one()


def test_the_query_that_scales_workers_in_the_chart_runs_as_the_queue_manager(
    services: Settings, database: Database
) -> None:
    chart = Path(__file__).parents[3] / "deploy/helm/edbench/templates/keda.yaml"
    (query,) = re.findall(r"query: >-\n(.*?)\n\s+targetQueryValue", chart.read_text(), re.DOTALL)
    own = as_role(database, services.handed, QUEUE_MANAGER)
    try:
        with own.transaction() as conn:
            assert conn.exec_driver_sql(query).scalar_one() == 0
    finally:
        own.dispose()


@pytest.mark.parametrize("role", [QUEUE_MANAGER, WORKER])
def test_a_role_that_makes_no_tables_waits_for_them(services: Settings, database: Database, role: str) -> None:
    """Promise: a queue manager of a newer version asks for the controller, and goes on once it was there."""
    own = as_role(database, services.handed, role)
    try:
        migrate(own)
        with database.transaction() as conn:
            conn.exec_driver_sql("DELETE FROM alembic_version")
        with pytest.raises(DatabaseFault, match="the controller") as caught:
            migrate(own)
        assert caught.value.transient
    finally:
        own.dispose()
