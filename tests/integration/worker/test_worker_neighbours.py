"""A worker that joins workers of another host under one emulated filer."""

import socket
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from core.services.shared_storage import TOKEN, identify
from core.settings import DatabaseAddress, Settings
from monitoring.block import boot_id
from sql.session import Database
from sql.workers import WORKERS, NewWorker, register
from worker.host.registration import refuse_strange_host
from worker.main import main


def _joined(database: Database, host: str, boot: str) -> None:
    with database.transaction() as conn:
        register(
            conn, NewWorker(incarnation=uuid.uuid4(), name=host, host=host, pid=1, boot_id=boot, slots=1, version="0")
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
    shown = capsys.readouterr().err
    assert "EDBENCH_FILER is titan: the workers of db1 run on several hosts" in shown
    assert "far away" in shown
    refuse_strange_host(Settings(databases=settings.databases))


def test_a_worker_with_another_storage_than_the_controller_does_not_start(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = tmp_path / "filer"
    storage.mkdir()
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),),
        broker="redis://:pw@h",
        scratch=tmp_path,
        storage=storage,
    )
    ours = identify(storage, mark=True)
    with database.transaction() as conn:
        WORKERS.note_storage(conn, path=str(storage), storage=ours)
    refuse_strange_host(settings)
    with database.transaction() as conn:
        WORKERS.note_storage(conn, path=str(storage), storage=replace(ours, token="another"))
    assert main(["--name", "w9"], settings.environment()) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert f"EDBENCH_STORAGE {storage} is not the same storage here as on the controller" in shown
    (storage / TOKEN).unlink()
    assert main(["--name", "w9"], settings.environment()) == 1
    assert "not the storage that the system was started on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statement", "status", "line"),
    [
        (
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
            1,
            "is not migrated to this version; start the controller",
        ),
        ("UPDATE alembic_version SET version_num = '9999'", 2, "has schema 9999, which this version of edbench"),
    ],
    ids=["empty", "newer"],
)
def test_a_worker_on_a_database_without_the_schema_of_this_version_does_not_start(
    database: Database, tmp_path: Path, capfd: pytest.CaptureFixture[str], statement: str, status: int, line: str
) -> None:
    """A worker started by hand ends with one line that says what to do, before it forks anything."""
    with database.transaction() as conn:
        conn.execute(statement)
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),), broker="redis://:pw@h", scratch=tmp_path
    )
    assert main(["--name", "w9"], settings.environment()) == status
    shown = capfd.readouterr().err
    assert shown.startswith(f"edbench: database db1 {line}")
    assert shown.count("\n") == 1


def test_a_database_that_is_away_keeps_no_worker_from_starting(caplog: pytest.LogCaptureFixture) -> None:
    url = "postgresql+psycopg2://u@127.0.0.1:1/d"
    refuse_strange_host(Settings(databases=(DatabaseAddress(name="db1", url=url),), filer="titan"))
    assert "cannot check whether" in caplog.text
