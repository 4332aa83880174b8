"""What queue manager and workers may do with the tables: declared for every table, and as declared."""

from __future__ import annotations

import pytest
from servers import as_role

from core.errors import DatabaseFault
from core.roles import QUEUE_MANAGER, WORKER
from core.settings import Settings
from sql.migrate import GRANTS, VERSION_TABLE, migrate
from sql.models import metadata
from sql.session import Database

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
