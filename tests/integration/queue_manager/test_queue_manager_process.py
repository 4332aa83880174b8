"""`python -m queue_manager` as a process."""

import dataclasses
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from installation import PATIENCE, until
from servers import as_superuser
from sqlalchemy.engine import make_url

from core.records import JobState
from core.roles import QUEUE_MANAGER
from core.settings import DatabaseAddress, Settings
from queue_manager import main as manager
from queue_manager.health import APPLICATION, ailing, main
from queue_manager.manager import SLOW_SECONDS, Pulse
from sql import jobs, ledger
from sql.findings import TaskResult
from sql.session import Database

ROOT = Path(__file__).parents[3]
WAITING = "another queue manager is active"


class _Process:
    """A queue manager and what it says."""

    def __init__(self, env: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("w") as output:
            self.popen = subprocess.Popen([sys.executable, "-m", "queue_manager"], cwd=ROOT, env=env, stderr=output)

    def output(self) -> str:
        return self._log.read_text()

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()


Start = Callable[[], _Process]


@pytest.fixture
def start(services: Settings, database: Database, broker_url: str, tmp_path: Path) -> Iterator[Start]:
    """Start a queue manager for this test's database, with its own logins."""
    running: list[_Process] = []
    addresses = (DatabaseAddress(name="db1", url=database.url),)
    given = dataclasses.replace(services, databases=addresses, log_level="INFO").for_role(QUEUE_MANAGER)

    def begin() -> _Process:
        env = {"PATH": os.environ["PATH"]} | given.environment()
        running.append(_Process(env, tmp_path / f"{len(running)}.log"))
        return running[-1]

    yield begin
    for process in running:
        process.kill()


def _stop(process: _Process) -> str:
    process.popen.send_signal(signal.SIGTERM)
    assert process.popen.wait(PATIENCE) == 0, process.output()
    return process.output()


def test_it_runs_a_job_survives_database_and_broker_and_leaves_cleanly(
    start: Start,
    services: Settings,
    database: Database,
    mailbox: Any,
    create_job: Callable[..., uuid.UUID],
    add_slots: Any,
) -> None:
    """Promise: it dispatches, crosses barriers, reconnects after its database session was ended, and SIGTERM
    ends it with status 0 and nothing alarming said."""
    job = create_job(6)
    add_slots(2)
    process = start()
    done: set[uuid.UUID] = set()

    def work() -> bool:
        for of, task in mailbox.take():
            with database.transaction() as conn:
                claimed = ledger.claim(conn, of, task, uuid.uuid4(), "w", 0)
            if claimed is not None:
                with database.transaction() as conn:
                    ledger.finish(conn, claimed, TaskResult())
                assert task not in done
                done.add(task)
        with database.transaction() as conn:
            return jobs.get_job(conn, job).state is JobState.COMPLETED

    until(lambda: work() or len(done) >= 2)
    as_superuser(
        services,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'edbench queue_manager'",
    )
    until(work)
    with database.transaction() as conn:
        every = conn.execute("SELECT id FROM task").scalars().all()
    assert len(done) > 6  # those of walk, and finalise's
    assert done == set(every)
    output = _stop(process)
    assert "Traceback" not in output
    assert output.count("retrying until it answers") <= 1


def test_a_second_one_waits_and_takes_over(
    start: Start, database: Database, mailbox: Any, create_job: Callable[..., uuid.UUID], add_slots: Any
) -> None:
    """Promise: one is active per database; when it is killed, the other goes on without losing a task."""
    first = start()
    add_slots(1)
    create_job(4)
    sent: list[Any] = []
    until(lambda: sent.extend(mailbox.take()) or len(sent) >= 2)
    second = start()

    until(lambda: WAITING in second.output())
    first.kill()
    until(lambda: sent.extend(mailbox.take()) or len(sent) >= 4)  # it cannot know that the first two arrived
    _stop(second)


def test_unusable_settings_are_one_line(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Promise: a missing variable is named on one line, with exit status 2."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    for env, name in (({}, "EDBENCH_DATABASES"), ({"EDBENCH_DATABASES": f"db1={database.url}"}, "EDBENCH_BROKER")):
        assert manager.main(env) == 2
        error = capsys.readouterr().err
        assert name in error
        assert error.count("\n") == 1


def test_healthy_only_while_a_manager_is_connected(database: Database, services: Settings) -> None:
    settings = Settings(
        databases=(DatabaseAddress(name="db1", url=database.url),), broker=services.broker, handed=services.handed
    )
    env = settings.for_role(QUEUE_MANAGER).environment()
    assert ailing(env) == "no queue manager is connected to database db1"
    manager = Database("db1", database.url, application=APPLICATION)
    with manager.transaction() as conn:
        conn.execute("SELECT 1")
        assert ailing(env) is None
    manager.dispose()


def test_a_database_that_is_away_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The engine keeps what the check says: it is one line with the reason."""
    env = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@127.0.0.1:1/db1", "EDBENCH_BROKER": "redis://:pw@h"}
    assert main(env) == 1
    assert capsys.readouterr().err.count("\n") == 1


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
        return list(conn.execute("SELECT seconds FROM outage ORDER BY ended_at").scalars())


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
