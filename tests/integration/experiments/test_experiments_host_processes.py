"""Hosts that join as processes of their own: killed, stopped, in a mount namespace of their own; no workers."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import redis
from ports import own_ports

from core.errors import UsageError
from experiments.hosts.fleet import Fleet
from experiments.hosts.meeting import Meeting, join_url, kept_login, meeting
from experiments.hosts.messages import ALIVE, ORDERS, Drops
from experiments.workload import HostLost

ADDRESS = "127.0.0.2"
PATIENCE = 120.0


class Bed:
    """A meeting place, and agents that join it."""

    def __init__(self, met: Meeting, url: str, home: Path) -> None:
        self.met, self._url, self.home = met, url, home
        self.storage = home / "mount" / "storage"
        self.storage.mkdir(parents=True)
        self._agents: list[subprocess.Popen[str]] = []

    def join(self, name: str, under: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Under another program if one is given."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("EDBENCH_")}
        agent = subprocess.Popen(
            [*under, sys.executable, "-m", "cli", "worker", "join", self._url, "--name", name],
            env=kept | {"EDBENCH_SCRATCH": str(self.home / "scratch")},
            stderr=subprocess.PIPE,
            text=True,
        )
        self._agents.append(agent)
        return agent

    def fleet(self, wanted: int) -> Fleet:
        """That looks at it."""
        return Fleet(self.met, wanted, self.storage, self.storage, lambda _line: None)

    def end(self) -> None:
        """All agents."""
        for agent in self._agents:
            with contextlib.suppress(ProcessLookupError):
                agent.send_signal(signal.SIGCONT)
                agent.terminate()
            agent.communicate(timeout=PATIENCE)


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    """For one test."""
    with own_ports() as port, meeting(tmp_path / "command", ADDRESS, port) as met:
        made = Bed(met, kept_login(tmp_path / "command").into(join_url(ADDRESS, port)), tmp_path)
        try:
            yield made
        finally:
            made.end()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _here(bed: Bed) -> set[str]:
    return {hello.incarnation for hello in bed.met.present()}


def test_a_killed_host_that_is_started_again_is_another_one(bed: Bed) -> None:
    """The one before is lost as soon as the next one is there, and nobody takes them for two hosts of one name; a second
    agent beside it is refused in one line."""
    first = bed.join("h1")
    fleet = bed.fleet(1)
    (before,) = fleet.await_all(PATIENCE)
    beside = bed.join("h1")
    assert beside.wait(PATIENCE) == 2
    assert beside.stderr is not None
    assert "another agent is host h1 here: stop that" in beside.stderr.read().splitlines()[-1]
    first.kill()
    first.wait()
    bed.join("h1")
    _until(lambda: _here(bed) != {before.hello.incarnation})
    assert before.hello.incarnation not in _here(bed)
    with pytest.raises(HostLost, match="host h1 was lost"):
        bed.met.check([before.hello])
    (after,) = fleet.await_all(PATIENCE)
    assert (before.name, after.name) == ("h1", "h1")
    assert before.hello.incarnation != after.hello.incarnation


def test_a_stopped_host_is_lost_and_does_not_do_late_what_nobody_waits_for(bed: Bed, tmp_path: Path) -> None:
    """When it goes on it is there again and takes orders, but not the one that it was lost with."""
    agent = bed.join("h1")
    (host,) = bed.fleet(1).await_all(PATIENCE)
    agent.send_signal(signal.SIGSTOP)
    server = redis.Redis(connection_pool=bed.met._client.connection_pool)
    _until(lambda: server.info("clients")["blocked_clients"] == 0)  # it waits for no order any more
    server.delete(f"{ALIVE}{host.hello.incarnation}")  # as the server does by itself, later
    with pytest.raises(HostLost, match="host h1 was lost: it does not answer any more"):
        bed.met.ask(host.hello, "drop", Drops(directories=(str(tmp_path),), when="index"))
    assert server.llen(f"{ORDERS}{host.hello.incarnation}") == 0
    agent.send_signal(signal.SIGCONT)
    _until(lambda: _here(bed) == {host.hello.incarnation})
    assert bed.met.ask(host.hello, "clock")["now"] > 0


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ("mount/storage", r"host apart has another storage at .*/storage than this one: tmpfs of .* there, .* here"),
        ("mount", r"host apart cannot see the storage .*/storage \(No such file or directory\): mount it there"),
    ],
)
def test_a_host_with_mounts_of_its_own(bed: Bed, over: str, told: str) -> None:
    """Another file system at the storage's path, or nothing: a mount namespace is a host in that."""
    under = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs edb "{bed.home / over}" && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*under, "true"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted in a namespace here")
    bed.join("apart", under)
    with pytest.raises(UsageError, match=told):
        bed.fleet(1).await_all(PATIENCE)
