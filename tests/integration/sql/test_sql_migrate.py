"""The schema of a database, and the rights on it."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg2
import pytest
from servers import OWNER, as_role, superuser_url

from core.errors import DatabaseFault, UsageError
from core.roles import QUEUE_MANAGER, WORKER
from core.settings import Settings
from sql.migrate import GRANTS, REVISION, VERSION_TABLE, migrate
from sql.models import metadata
from sql.session import Database


def _empty(database: Database) -> None:
    with database.transaction() as conn:
        conn.execute("DROP SCHEMA public CASCADE")
        conn.execute("CREATE SCHEMA public")


def test_a_fresh_database_has_exactly_the_models(database: Database) -> None:
    """What the code expects of the schema is what a database gets: columns with their types, defaults and conditions, indexes,
    constraints."""
    columns = (
        "SELECT table_name, column_name, is_nullable = 'YES' AS nullable FROM information_schema.columns"
        " WHERE table_schema = 'public'"
    )
    with database.transaction() as conn:
        assert conn.execute(f"SELECT version_num FROM {VERSION_TABLE}").scalars().all() == [REVISION]
        made = set(conn.execute(columns))
        checks = conn.execute("SELECT count(*) FROM pg_constraint WHERE contype = 'c'").scalar_one()
        indexes = dict(conn.execute("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"))
    tables = metadata.tables.values()
    assert made - {(VERSION_TABLE, "version_num", False)} == {
        (table.name, column.name, bool(column.nullable)) for table in tables for column in table.columns
    }
    assert checks >= sum(type(one).__name__ == "CheckConstraint" for table in tables for one in table.constraints) > 0
    wanted = {index.name: index for table in tables for index in table.indexes}
    assert wanted.keys() <= indexes.keys()
    for name, index in wanted.items():  # also those with a condition
        assert ("WHERE" in indexes[str(name)]) == (index.dialect_options["postgresql"]["where"] is not None)


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
        assert conn.execute("SELECT count(*) FROM job").scalar_one() == 0


def test_a_newer_schema_is_refused(database: Database) -> None:
    """Promise: old code does not write into a schema it does not know."""
    with database.transaction() as conn:
        conn.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(UsageError, match="newer version"):
        migrate(database)


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


def test_every_table_states_who_may_use_it() -> None:
    """Promise: a new table is granted to nobody by oversight, nor refused to a part that needs it: it is named here."""
    assert set(GRANTS) == {*metadata.tables, VERSION_TABLE}


def test_rights_that_were_not_declared_are_taken_back(database: Database) -> None:
    """Promise: whatever somebody granted by hand, or an earlier version did, the next start sets right."""
    with database.transaction() as conn:
        before = conn.execute(_PRIVILEGES, {"table": "item"}).scalar_one()
        conn.execute("GRANT DELETE ON item TO edbench_worker")
        conn.execute("GRANT UPDATE (options) ON job TO edbench_queue_manager")
        conn.execute("REVOKE SELECT ON task FROM edbench_worker")
    migrate(database)
    with database.transaction() as conn:
        assert conn.execute(_PRIVILEGES, {"table": "item"}).scalar_one() == before
        look = "SELECT has_column_privilege(%(role)s, 'job', 'options', 'UPDATE')"
        assert not conn.execute(look, {"role": "edbench_queue_manager"}).scalar_one()
        assert conn.execute("SELECT has_table_privilege('edbench_worker', 'task', 'SELECT')").scalar_one()


def test_the_query_that_scales_workers_in_the_chart_runs_as_the_queue_manager(
    services: Settings, database: Database
) -> None:
    chart = Path(__file__).parents[3] / "deploy/helm/edbench/templates/keda.yaml"
    (query,) = re.findall(r"query: >-\n(.*?)\n\s+targetQueryValue", chart.read_text(), re.DOTALL)
    own = as_role(database, services.handed, QUEUE_MANAGER)
    try:
        with own.transaction() as conn:
            assert conn.execute(query).scalar_one() == 0
    finally:
        own.dispose()


@pytest.mark.parametrize("role", [QUEUE_MANAGER, WORKER])
def test_a_role_that_makes_no_tables_waits_for_them(services: Settings, database: Database, role: str) -> None:
    """Promise: a queue manager of a newer version asks for the controller, and goes on once it was there."""
    own = as_role(database, services.handed, role)
    try:
        migrate(own)
        with database.transaction() as conn:
            conn.execute("DELETE FROM alembic_version")
        with pytest.raises(DatabaseFault, match="the controller") as caught:
            migrate(own)
        assert caught.value.transient
    finally:
        own.dispose()
