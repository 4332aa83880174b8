"""Embedded services that workers of other hosts reach."""

import contextlib
from pathlib import Path

import psycopg2
import pytest
import redis

from core.errors import UsageError
from core.roles import CONTROLLER, QUEUE_MANAGER, WORKER
from core.services import embedded_services, for_other_hosts
from core.settings import Settings

ADDRESS = "127.0.0.2"


def test_from_other_hosts_the_workers_come_and_no_other_process(tmp_path: Path) -> None:
    """At the address that was named, with the workers' login; the other roles' are for this host. The broker is there, too.
    Whoever attaches and wants another address is told."""
    settings = Settings(scratch=tmp_path)
    with embedded_services(settings, slots=1, listen=ADDRESS) as here:
        there = for_other_hosts(here)
        url = there.databases[0].url.replace("+psycopg2", "")
        assert f"@{ADDRESS}:" in url
        with contextlib.closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT session_user")
            assert cursor.fetchone() == (f"edbench_{WORKER}",)
        for login in here.handed:
            if login.role in (CONTROLLER, QUEUE_MANAGER):
                with pytest.raises(psycopg2.OperationalError, match=r"no pg_hba\.conf entry"):
                    psycopg2.connect(login.into(url))
        assert there.broker is not None
        assert not there.handed
        with redis.Redis.from_url(there.broker) as client:
            assert client.ping()
        with (
            pytest.raises(UsageError, match=r"do not listen at 127\.0\.0\.3"),
            embedded_services(settings, slots=1, listen="127.0.0.3"),
        ):
            pytest.fail("it was let in")


def test_an_address_of_another_host_is_refused(tmp_path: Path) -> None:
    """Before anything is started, with what to look at (192.0.2.1 is nobody's: RFC 5737)."""
    with (
        pytest.raises(UsageError, match=r"192\.0\.2\.1 is not an address of this host"),
        embedded_services(Settings(scratch=tmp_path), slots=1, listen="192.0.2.1"),
    ):
        pytest.fail("it began")
