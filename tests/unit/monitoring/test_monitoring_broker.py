"""monitoring.broker: the broker's address in either spelling."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from monitoring.broker import client_url, connect


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("redis://:pw@127.0.0.1:6379/0", "redis://:pw@127.0.0.1:6379/0"),
        ("redis+socket:///run/b.sock", "unix:///run/b.sock?db=0"),
        ("redis+socket://:pw@/run/a b/b.sock?virtual_host=2", "unix://:pw@/run/a%20b/b.sock?db=2"),
        ("redis+socket:///run/a%20b/b.sock?virtual_host=/3", "unix:///run/a%20b/b.sock?db=3"),
    ],
)
def test_addresses(given: str, wanted: str) -> None:
    """What Celery takes, the frames' client takes too."""
    assert client_url(given) == wanted
    connect(given).close()


def test_socket_password_and_database_arrive() -> None:
    pool = connect("redis+socket://:pw@/run/a b/b.sock?virtual_host=2").connection_pool
    assert pool.connection_kwargs["path"] == "/run/a b/b.sock"
    assert (pool.connection_kwargs["password"], pool.connection_kwargs["db"]) == ("pw", 2)


def test_other_brokers_are_refused() -> None:
    with pytest.raises(UsageError, match="EDBENCH_BROKER"):
        client_url("amqp://localhost")
