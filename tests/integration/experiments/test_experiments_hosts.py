"""Hosts that join: a real meeting place, real agents in threads; no workers."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from ports import own_ports

from core.clock import SystemClock
from core.errors import RunFailed, UsageError
from core.roles import Login, login_name
from core.services.broker_users import HOST
from experiments.hosts.agent import Agent
from experiments.hosts.fleet import Fleet
from experiments.hosts.meeting import Meeting, join_url, kept_login, meeting
from experiments.hosts.messages import ALIVE
from experiments.workload import HostLost

ADDRESS = "127.0.0.2"
PATIENCE = 120.0
Joins = Callable[..., contextlib.AbstractContextManager[Agent]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Meeting, str]]:
    """A meeting place and the URL, login and all, that hosts join it by."""
    scratch = tmp_path_factory.mktemp("scratch")
    with own_ports() as port, meeting(scratch, ADDRESS, port) as met:
        yield met, kept_login(scratch).into(join_url(ADDRESS, port))


@pytest.fixture
def port() -> Iterator[int]:
    """Of this test's own."""
    with own_ports() as own:
        yield own


@pytest.fixture
def joined(place: tuple[Meeting, str], tmp_path: Path) -> Joins:
    """Has an agent there for as long as a block lasts."""

    @contextlib.contextmanager
    def join(name: str, **said: Any) -> Iterator[Agent]:
        scratch = Path(tempfile.mkdtemp(dir=tmp_path))
        agent = Agent(place[1], name, scratch, {}, lambda _line: None, **said)
        thread = threading.Thread(target=agent.run)
        thread.start()
        try:
            yield agent
        finally:
            agent.stop()
            thread.join()

    return join


def _fleet(place: tuple[Meeting, str], wanted: int, storage: Path, said: list[str]) -> Fleet:
    return Fleet(place[0], wanted, storage, storage, said.append)


def test_hosts_are_looked_at_and_told_with_storage_and_clock(
    place: tuple[Meeting, str], joined: Joins, tmp_path: Path
) -> None:
    """Each in a line; a host that leaves is lost, and the next one takes its place."""
    said: list[str] = []
    fleet = _fleet(place, 2, tmp_path, said)
    with joined("h1"):
        with joined("h2"):
            hosts = fleet.await_all(PATIENCE)
            assert [host.name for host in hosts] == ["h1", "h2"]
            assert all(" cores, " in line and f"at {tmp_path}, clock" in line for line in said)
            offsets = fleet.offsets(hosts)
            assert all(abs(offset) <= error + 0.1 for offset, error in offsets.values())  # it is one clock
            place[0].check([host.hello for host in hosts])
        with pytest.raises(HostLost, match="host h2 was lost"):
            place[0].check([host.hello for host in hosts])
        with pytest.raises(HostLost, match="host h2 was lost"):
            place[0].ask(hosts[1].hello, "clock")
        with joined("h3"):
            assert [host.name for host in fleet.await_all(PATIENCE)] == ["h1", "h3"]
    with pytest.raises(RunFailed, match="2 hosts are required, and after 0 s there is "):
        fleet.await_all(0.0)


def test_a_host_of_another_version(place: tuple[Meeting, str], joined: Joins, tmp_path: Path) -> None:
    """Named, with both versions."""
    with (
        joined("old", version="0.0.1"),
        pytest.raises(UsageError, match=r"host old has edbench 0\.0\.1, this command is"),
    ):
        _fleet(place, 1, tmp_path, []).await_all(PATIENCE)


def test_a_host_whose_words_are_not_understood(place: tuple[Meeting, str], joined: Joins, tmp_path: Path) -> None:
    """One of a version with other messages: named so far as that goes, and no trouble to whoever does not need it."""
    with redis.Redis.from_url(place[1]) as client, joined("h1"):
        fleet = _fleet(place, 1, tmp_path, [])
        assert [host.name for host in fleet.await_all(PATIENCE)] == ["h1"]
        client.set(f"{ALIVE}strange", b'{"called": 5}')
        try:
            assert [host.name for host in fleet.await_all(PATIENCE)] == ["h1"]
            with pytest.raises(UsageError, match="host with agent strange has edbench with unknown words"):
                _fleet(place, 2, tmp_path, []).await_all(PATIENCE)
        finally:
            client.delete(f"{ALIVE}strange")


class _Ahead(SystemClock):
    """By five minutes."""

    def now(self) -> float:
        return super().now() + 300


def test_a_host_whose_clock_is_off_by_minutes(place: tuple[Meeting, str], joined: Joins, tmp_path: Path) -> None:
    """Its calls would be told of seconds in which no job ran."""
    with (
        joined("fast", clock=_Ahead()),
        pytest.raises(UsageError, match=r"the clock of host fast is \d+\.\d s ahead of this one's, .*: synchronise it"),
    ):
        _fleet(place, 1, tmp_path, []).await_all(PATIENCE)


def test_two_hosts_of_one_name(place: tuple[Meeting, str], joined: Joins, tmp_path: Path) -> None:
    """Queues go by names: whoever comes second is told to take another. Where nobody needs it, it disturbs nothing."""
    with joined("twin"):
        fleet = _fleet(place, 1, tmp_path, [])
        (first,) = fleet.await_all(PATIENCE)
        with joined("twin"):
            deadline = time.monotonic() + PATIENCE
            while len(place[0].present()) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert len(place[0].present()) == 2
            assert [host.hello.incarnation for host in fleet.await_all(PATIENCE)] == [first.hello.incarnation]
            with pytest.raises(UsageError, match="two hosts have the name twin"):
                _fleet(place, 2, tmp_path, []).await_all(PATIENCE)


def test_a_host_with_a_name_that_is_none(place: tuple[Meeting, str], tmp_path: Path) -> None:
    """Commas part names, slashes lead elsewhere."""
    for name in ("", "a,b", "../h", "-w1"):
        with pytest.raises(UsageError, match="--name is"):
            Agent(place[1], name, tmp_path, {}, lambda _line: None)


def test_a_wrong_login_ends_the_agent(place: tuple[Meeting, str], tmp_path: Path) -> None:
    """In one line: it would try for ever."""
    wrong = Login(role=HOST, password="0" * 48).into(place[1])
    with pytest.raises(UsageError, match="the meeting place refuses this login"):
        Agent(wrong, "h1", tmp_path, {}, lambda _line: None).run()


def test_a_host_that_was_there_first_comes_when_the_command_does(tmp_path: Path, port: int) -> None:
    """It says that nobody answers, tries on, and says so when somebody does; a second command at that port is refused."""
    scratch, said = tmp_path / "scratch", list[str]()
    (scratch / "hosts").mkdir(parents=True)
    url = kept_login(scratch).into(join_url(ADDRESS, port))
    silent = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        silent.set()

    agent = Agent(url, "early", tmp_path / "early", {}, say)
    thread = threading.Thread(target=agent.run)
    thread.start()
    try:
        assert silent.wait(PATIENCE)
        with meeting(scratch, ADDRESS, port) as met:
            assert [host.name for host in Fleet(met, 1, tmp_path, tmp_path, said.append).await_all(PATIENCE)] == [
                "early"
            ]
            with (
                pytest.raises(UsageError, match=f"port {port} of {ADDRESS} is in use; wait until"),
                meeting(tmp_path / "second", ADDRESS, port),
            ):
                pytest.fail("two at one port")
    finally:
        agent.stop()
        thread.join()
    assert said[0].startswith("no experiment answers there now")
    assert "an experiment answers" in said


def test_a_host_takes_its_orders_and_nothing_else(place: tuple[Meeting, str]) -> None:
    """The login may say that it is there, take orders and answer."""
    with redis.Redis.from_url(place[1]) as client:
        assert client.ping()
        for line in (
            "KEYS *",
            "FLUSHALL",
            "LPUSH edbench:hosts:orders:x y",
            "GET edbench:hosts:alive:x",
            "BRPOP edbench.db1 1",
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*line.split())
    assert login_name(HOST) in place[1]
