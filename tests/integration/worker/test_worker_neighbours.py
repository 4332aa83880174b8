"""A worker that joins workers of another host under one emulated filer."""

from __future__ import annotations

import socket
import uuid
from pathlib import Path

import pytest

from core.settings import DatabaseAddress, Settings
from monitoring.filer.boot import boot_id
from sql import workers
from sql.session import Database
from worker.host.neighbours import refuse_strange_host
from worker.main import main

pytestmark = pytest.mark.services


def _joined(database: Database, host: str, boot: str) -> None:
    with database.transaction() as conn:
        workers.register(
            conn, incarnation=uuid.uuid4(), name=host, host=host, pid=1, boot_id=boot, slots=1, version="0"
        )


def test_a_worker_on_another_host_does_not_start(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its calls would go through an arbiter of its own and the ceiling would be doubled; one line and status 2.
    Beside workers of its own host, or without an emulated filer, it starts."""
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),),
        broker="redis://:pw@h",
        scratch=tmp_path,
        filer="titan",
    )
    refuse_strange_host(settings)
    _joined(database, socket.gethostname(), boot_id())
    refuse_strange_host(settings)
    _joined(database, "far away", "another boot")
    assert main(["--name", "w9"], settings.environment()) == 2
    said = capsys.readouterr().err
    assert "EDBENCH_FILER is titan: the workers of db1 run on several hosts" in said
    assert "far away" in said
    refuse_strange_host(Settings(databases=settings.databases))


def test_a_database_that_is_away_keeps_no_worker_from_starting(caplog: pytest.LogCaptureFixture) -> None:
    """It may come back; what is not known is logged."""
    url = "postgresql+psycopg2://u@127.0.0.1:1/d"
    refuse_strange_host(Settings(databases=(DatabaseAddress(name="db1", url=url),), filer="titan"))
    assert "is not known" in caplog.text
