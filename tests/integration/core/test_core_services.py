"""The embedded services: who starts and stops them, and what happens when something dies."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest
import redis
from installation import PATIENCE, is_gone, until
from servers import copy_scratch

from core.errors import UsageError
from core.services import Addresses, broker_keeper_url, embedded_services, running_services
from core.services.place import Home
from core.services.process import MOST_BYTES
from core.settings import Settings, read_settings

REPOSITORY = Path(__file__).parents[3]

# A command of its own: attaches, says its addresses, and stays until its standard input ends.
COMMAND = """
import json, sys
from pathlib import Path
from core.services import embedded_services
from core.settings import Settings, read_settings
with embedded_services(Settings(scratch=Path(sys.argv[1])), slots=8) as settings:
    print(json.dumps({"database": settings.databases[0].url, "broker": settings.broker}), flush=True)
    sys.stdin.read()
"""


def query(url: str, sql: str) -> list[tuple[Any, ...]]:
    """Run one statement in its own connection; rows if there are any."""
    connection = psycopg2.connect(url.replace("+psycopg2", ""), connect_timeout=int(PATIENCE))
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


class Command:
    """A separate process that uses the services."""

    def __init__(self, scratch: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.announced: dict[str, str] = json.loads(self.process.stdout.readline())

    def finish(self) -> None:
        """Let it end in good order."""
        self.process.communicate()
        assert self.process.returncode == 0


def everything(addresses: Addresses) -> list[psutil.Process]:
    """The keeper, the servers and what is under them now; PostgreSQL's own come and go."""
    roots = [psutil.Process(pid) for pid in (addresses.keeper, addresses.broker.pid, addresses.servers[0].pid)]
    return [p for root in roots for p in (root, *root.children(recursive=True))]


def running(scratch: Path) -> Addresses:
    """The addresses of services that must be running."""
    addresses = running_services(scratch)
    assert addresses is not None
    return addresses


def none_left(processes: Sequence[psutil.Process]) -> bool:
    """Whether all of them are gone (a zombie that nobody reaps is gone)."""
    return all(is_gone(process) for process in processes)


@pytest.fixture
def scratch(open_dir: Path) -> Iterator[Path]:
    """A scratch directory with a space in its path, the same one for all tests of this file (a new database takes a
    second); nothing may be running for it before and afterwards."""
    path = open_dir / "services with space"
    assert running_services(path) is None
    yield path
    until(lambda: running_services(path) is None)


@pytest.fixture(scope="module")
def up(open_dir: Path) -> Iterator[Settings]:
    """Services that stay up, for tests that look at them or kill a part of them: two databases, and connections for 200 slots. Their
    scratch path is far longer than the address of a unix socket may be."""
    scratch = open_dir.joinpath(*["a long path component of about fifty characters 012"] * 5)
    with embedded_services(Settings(scratch=scratch), databases=("db1", "db2"), slots=200) as settings:
        yield settings


KEEP = "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS n"


def test_first_starts_others_attach_last_stops(scratch: Path) -> None:
    """The first command starts the services, a second one uses the same, and they end with the last of the two,
    whichever came first; a later command finds the data."""
    first = Command(scratch)
    second = Command(scratch)
    assert first.announced == second.announced
    processes = everything(running(scratch))
    query(first.announced["database"], KEEP)
    first.finish()
    assert query(second.announced["database"], "SELECT n FROM kept") == [(42,)]
    second.finish()
    assert running_services(scratch) is None
    until(lambda: none_left(processes))  # the keeper's lock is free a moment before its end
    with embedded_services(Settings(scratch=scratch), slots=1) as settings:
        assert query(settings.databases[0].url, "SELECT n FROM kept") == [(42,)]


def test_who_starts_them_does_something_meanwhile(scratch: Path) -> None:
    seen: list[bool] = []

    def meanwhile() -> None:
        seen.append((scratch / "services" / "address.json").exists())

    with (
        embedded_services(Settings(scratch=scratch), slots=1, meanwhile=meanwhile),
        embedded_services(Settings(scratch=scratch), slots=1, meanwhile=meanwhile),
    ):
        assert seen == [False]


def test_the_broker_comes_with_the_first_who_needs_one(scratch: Path) -> None:
    Home(scratch).prepare()
    Home(scratch).broker_request.touch()  # by one who was killed
    with embedded_services(Settings(scratch=scratch), slots=1, broker=False) as reading:
        assert reading.broker is None
        assert query(reading.databases[0].url, "SELECT 1") == [(1,)]
        names = [process.name() for process in psutil.Process(running(scratch).keeper).children()]
        assert names == ["postgres"]
        with embedded_services(Settings(scratch=scratch), slots=1) as working:
            assert working.databases == reading.databases
            assert redis.Redis.from_url(str(working.broker)).ping()
        with embedded_services(Settings(scratch=scratch), slots=1, broker=False) as others:
            assert others.broker == working.broker
        broker = running(scratch).broker.pid
        os.kill(broker, signal.SIGKILL)
        until(lambda: running(scratch).broker.pid not in (0, broker))
        processes = everything(running(scratch))
    until(lambda: none_left(processes))


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_the_command_is_ended(scratch: Path, signum: signal.Signals) -> None:
    command = Command(scratch)
    addresses = running(scratch)
    processes = everything(addresses)
    os.killpg(command.process.pid, signum)
    command.process.wait()
    until(lambda: none_left(processes))
    assert not Path(addresses.servers[0].socket_dir).exists()
    command.process.communicate()


def test_keeper_killed_takes_everything_along(scratch: Path) -> None:
    """The next command has the data, also right after it."""
    command = Command(scratch)
    query(command.announced["database"], KEEP)
    processes = everything(running(scratch))
    keeper = psutil.Process(running(scratch).keeper)
    keeper.kill()
    until(lambda: is_gone(keeper))  # or the command would still take it for one that lives
    with embedded_services(Settings(scratch=scratch), slots=1) as settings:
        assert query(settings.databases[0].url, "SELECT n FROM kept") == [(42,)]
        until(lambda: none_left(processes))
    command.finish()


def test_broker_killed_comes_back_empty(up: Settings) -> None:
    client = redis.Redis.from_url(broker_keeper_url(up.scratch))
    client.set("key", "value")
    before = running(up.scratch).broker.pid
    os.kill(before, signal.SIGKILL)
    until(lambda: running(up.scratch).broker.pid != before)
    until(lambda: _pings(client))
    assert client.dbsize() == 0
    client.close()


def _pings(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def test_passwords_are_asked_for_and_hidden(up: Settings) -> None:
    """Nobody gets in without the password, and no file or command line shows it to others."""
    addresses = running(up.scratch)
    password = addresses.servers[0].password
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        query(up.databases[0].url.replace(password, "wrong"), "SELECT 1")
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(port=addresses.broker.port).ping()
    secrets = (password, addresses.broker.password)
    for process in everything(addresses):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            assert not any(s in " ".join(process.cmdline()) for s in secrets)
    for path in up.scratch.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # the servers have files that come and go
            if path.is_file() and path.stat().st_mode & 0o077:
                assert not any(s.encode() in path.read_bytes() for s in secrets), path


def test_logs_are_not_for_everybody_and_do_not_grow_without_end(up: Settings) -> None:
    logs = [up.scratch / "logs" / name for name in ("keeper.log", "postgres.log", "broker.log")]
    for log in logs:
        assert log.stat().st_mode & 0o777 == 0o640
        os.truncate(log, MOST_BYTES + 1)  # sparse: it takes no room
    until(lambda: all(log.stat().st_size < MOST_BYTES for log in logs))
    for log in logs:
        older = log.with_name(f"{log.name}.1")
        assert older.stat().st_size > MOST_BYTES  # a server may have written a line meanwhile
        older.unlink()


def test_servers_are_safe_and_unprivileged(up: Settings) -> None:
    """A crash loses no committed data, there are connections for the slots, and PostgreSQL never runs as root."""
    assert [d.name for d in up.databases] == ["db1", "db2"]
    for database in up.databases:
        assert query(database.url, "SELECT current_database()") == [(database.name,)]
    shown = query(up.databases[0].url, "SELECT name, setting FROM pg_settings")
    values = dict(shown)
    assert (values["fsync"], values["full_page_writes"], values["synchronous_commit"]) == ("on", "on", "on")
    assert int(values["max_connections"]) >= 400
    assert values["listen_addresses"] == ""
    assert psutil.Process(running(up.scratch).servers[0].pid).uids().effective != 0


def test_too_many_slots_for_running_services(up: Settings) -> None:
    """A command that needs more connections than the running database allows is told so at once."""
    with pytest.raises(UsageError, match="connections"), embedded_services(Settings(scratch=up.scratch), slots=5000):
        pass


def test_data_of_another_major_version(scratch: Path) -> None:
    """Data that another PostgreSQL wrote are refused with one line, not touched."""
    with embedded_services(Settings(scratch=scratch), slots=1):
        pass
    marker = scratch / "services/postgres/data/PG_VERSION"
    ours = marker.read_text()
    marker.write_text("15\n")
    try:
        with (
            pytest.raises(UsageError, match=r"contains data of PostgreSQL 15.*EDBENCH_SCRATCH"),
            embedded_services(Settings(scratch=scratch), slots=1),
        ):
            pass
    finally:
        marker.write_text(ours)


def test_unusable_scratch(open_dir: Path) -> None:
    blocked = open_dir / "file"
    blocked.write_text("")
    with (
        pytest.raises(UsageError, match=r"scratch .*file.* cannot be used"),
        embedded_services(Settings(scratch=blocked), slots=1),
    ):
        pass


def test_services_that_exist_already_are_used() -> None:
    env = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@h/d"}
    with pytest.raises(UsageError, match="EDBENCH_BROKER"), embedded_services(read_settings(env), slots=1):
        pass
    settings = read_settings(env | {"EDBENCH_BROKER": "redis://:p@h/0"})
    with embedded_services(settings, slots=1) as given:
        assert given is settings


def test_each_database_has_a_server_of_its_own(up: Settings) -> None:
    """Two servers, one killed hard: it is there again at the same address with what was committed, and the other does not notice.
    A command that asks for more than run is told so."""
    before = running(up.scratch)
    assert [server.name for server in before.servers] == ["db1", "db2"]
    first, second = (database.url for database in up.databases)
    query(second, KEEP)
    other = psycopg2.connect(first.replace("+psycopg2", ""))
    os.kill(before.servers[1].pid, signal.SIGKILL)
    until(lambda: running(up.scratch).servers[1].pid != before.servers[1].pid)
    until(lambda: answers(second))
    assert query(second, "SELECT n FROM kept") == [(42,)]
    assert running(up.scratch).servers[0].pid == before.servers[0].pid
    with other.cursor() as cursor:
        cursor.execute("SELECT 1")
    other.close()
    with (
        pytest.raises(UsageError, match="no server for database db3"),
        embedded_services(Settings(scratch=up.scratch), databases=("db1", "db3"), slots=1),
    ):
        pass


def test_a_command_that_asks_for_fewer_databases_gets_all(open_dir: Path, two_databases: Path) -> None:
    scratch = open_dir / "two servers"
    copy_scratch(two_databases, scratch)
    with embedded_services(Settings(scratch=scratch), slots=1) as settings:
        assert [database.name for database in settings.databases] == ["db1", "db2"]
        assert query(settings.databases[1].url, "SELECT 1") == [(1,)]
    assert running_services(scratch) is None


def answers(url: str) -> bool:
    """Whether the database takes a query."""
    try:
        return query(url, "SELECT 1") == [(1,)]
    except psycopg2.OperationalError:
        return False
