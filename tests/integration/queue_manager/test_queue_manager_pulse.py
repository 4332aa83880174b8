"""queue_manager.pulse on a real server: silences are noted, whatever makes them, and slow answers are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from servers import as_superuser
from sqlalchemy.engine import make_url

from core.settings import Settings
from queue_manager.pulse import SLOW_SECONDS, Pulse
from sql.session import Database

pytestmark = pytest.mark.services


@contextmanager
def _refused(services: Settings, database: Database) -> Iterator[None]:
    """The server ends the database's sessions, and lets none in."""
    name = make_url(database.url).database
    as_superuser(services, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    as_superuser(services, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        yield
    finally:
        as_superuser(services, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def _noted(database: Database) -> list[float]:
    with database.transaction() as conn:
        return list(conn.exec_driver_sql("SELECT seconds FROM outage ORDER BY ended_at").scalars())


def _clock(*seconds: float) -> Callable[[], float]:
    return iter(seconds).__next__


def test_a_database_that_was_gone_or_frozen_is_noted(services: Settings, database: Database) -> None:
    own = Database("db1", database.url, pool_size=1)
    pulse = Pulse(own, _clock(0, 0.1, 10, 12, 14, 14.5, 20, 20 + SLOW_SECONDS, 30, 29.9 + SLOW_SECONDS))
    pulse.beat()  # 0 to 0.1
    with _refused(services, database):
        pulse.beat()  # at 10
        pulse.beat()  # at 12
    database.dispose()
    assert _noted(database) == []
    pulse.beat()  # 14 to 14.5
    pulse.beat()  # 20 to 25
    pulse.beat()  # 30 to 34.9
    own.dispose()
    assert _noted(database) == [4.5, SLOW_SECONDS]
