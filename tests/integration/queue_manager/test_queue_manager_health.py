"""The health check of a queue manager's container."""

from __future__ import annotations

import pytest

from core.roles import QUEUE_MANAGER
from core.settings import DatabaseAddress, Settings
from queue_manager.health import APPLICATION, ailing, main
from sql.session import Database


def test_healthy_only_while_a_manager_is_connected(database: Database, services: Settings) -> None:
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),), broker=services.broker, handed=services.handed
    )
    env = settings.for_role(QUEUE_MANAGER).environment()
    assert ailing(env) == "no queue manager is connected to database db1"
    manager = Database("db1", database.url, application=APPLICATION)
    with manager.transaction() as conn:
        conn.exec_driver_sql("SELECT 1")
        assert ailing(env) is None
    manager.dispose()


def test_a_database_that_is_away_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The engine keeps what the check says: it is one line with the reason."""
    env = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@127.0.0.1:1/db1", "EDBENCH_BROKER": "redis://:pw@h"}
    assert main(env) == 1
    assert capsys.readouterr().err.count("\n") == 1
