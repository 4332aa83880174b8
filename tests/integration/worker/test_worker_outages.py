"""What a worker does while its broker or its database is away, and when they are back."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis
from installation import PATIENCE
from servers import as_superuser

from core.roles import WORKER, Login, login_name
from core.services.binaries import valkey_server
from core.services.keyring import user_lines
from core.settings import Settings
from monitoring.broker import FIELD, STREAM, connect
from monitoring.frames import decode_frame
from worker import app


class OwnBroker:
    """A Valkey of this test's own, to be killed."""

    def __init__(self, directory: Path, port: int, logins: Sequence[Login]) -> None:
        self.port = port
        self.url = f"redis://all:secret@127.0.0.1:{self.port}/0"
        self._directory = directory
        users = [*user_lines(logins), "user all on >secret allkeys allchannels +@all", ""]
        (directory / "users.acl").write_text("\n".join(users))
        self.process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._directory)]
        options += ["--aclfile", str(self._directory / "users.acl")]
        return subprocess.Popen([valkey_server(), *options], stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        """As if its host had died: what it held is lost."""
        self.process.kill()
        self.process.wait()

    def start_again(self) -> None:
        """Empty, at the same address."""
        self.process = self._spawn()

    def answers(self) -> bool:
        """Whether it is up."""
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


@pytest.fixture
def own_broker(bench: Any, port: int) -> Iterator[OwnBroker]:
    """A broker that the bench uses and that the test may kill."""
    broker = OwnBroker(bench.scratch, port, bench.handed)
    bench.broker = broker.url
    try:
        bench.until(broker.answers)
        yield broker
    finally:
        broker.kill()


def test_slots_come_back_after_the_broker_did(bench: Any, own_broker: OwnBroker) -> None:
    """The broker is killed under idle and working slots and starts again empty: they consume again within seconds."""
    go = bench.scratch / "go"
    bench.tasks({"do": "wait", "until": str(go)}, {"do": "nothing"}, {"do": "nothing"})
    worker = bench.start(slots=2)
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
    before = bench.until(lambda: len((found := children.read_text()).split()) == 3 and found)  # they register first
    bench.send()
    bench.until(lambda: len(bench.rows("SELECT 1 FROM task WHERE state = 'done'")) == 2)
    bench.until(lambda: bench.rows("SELECT 1 FROM task WHERE state = 'running'"))  # it may have been sent last
    own_broker.kill()
    go.touch()
    bench.until(lambda: bench.done(resend=False))
    with bench.database.transaction() as conn:
        conn.execute("UPDATE task SET state = 'pending', attempt = 0")
    bench.until(lambda: "does not answer" in bench.log())
    own_broker.start_again()
    bench.until(own_broker.answers)
    bench.until(bench.done)
    assert children.read_text() == before  # by themselves, not by dying


def test_a_worker_may_start_before_its_broker(bench: Any, own_broker: OwnBroker) -> None:
    own_broker.kill()
    bench.tasks({"do": "nothing"})
    bench.start()
    own_broker.start_again()
    bench.until(own_broker.answers)
    bench.until(bench.done)


def test_a_stopping_worker_does_not_wait_for_a_dead_broker(bench: Any, own_broker: OwnBroker) -> None:
    worker = bench.start()
    own_broker.kill()
    bench.until(lambda: "does not answer" in bench.log())
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(PATIENCE) == 0
    assert bench.one("SELECT stopped_at FROM worker").stopped_at is not None


def test_a_death_is_reported_once_the_database_is_back(bench: Any, services: Settings) -> None:
    go = bench.scratch / "go"
    bench.tasks({"do": "wait", "until": str(go)})
    worker = bench.start()
    bench.send()
    bench.until(lambda: bench.rows("SELECT 1 FROM task WHERE state = 'running'"))
    name = bench.database.url.rpartition("/")[2].partition("?")[0]
    slots = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    (slot,) = [int(p) for p in slots if len(os.listdir(f"/proc/{p}/task")) == 1]
    as_superuser(
        services,
        f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
    )
    try:
        os.kill(slot, signal.SIGSEGV)
        bench.until(lambda: "SIGSEGV" in bench.log() and "retrying" in bench.log())
    finally:
        as_superuser(services, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    bench.database.dispose()
    bench.until(lambda: bench.rows("SELECT 1 FROM death"))
    bench.until(bench.done)
    bench.until(lambda: "answers again" in bench.log())
    worker.terminate()
    assert worker.wait(PATIENCE) == 0
    assert bench.one("SELECT stopped_at FROM worker").stopped_at is not None


def test_calls_reach_the_broker_as_frames(bench: Any) -> None:
    """What slots record is sent each second, those of a slot that died too, and the last frame at the end."""
    bench.tasks({"do": "abort"}, {"do": "nothing"})
    worker = bench.start()
    bench.until(bench.done)
    worker.terminate()
    assert worker.wait(PATIENCE) == 0
    with redis.Redis.from_url(bench.broker) as client:
        taken = [decode_frame(fields[FIELD]) for _, fields in client.xrange(STREAM)]
    frames = list({frame.sequence: frame for frame in taken}.values())  # one may come twice; the collector knows them
    assert [frame.sequence for frame in frames] == list(range(1, len(frames) + 1))
    assert {frame.incarnation for frame in frames} == {bench.one("SELECT incarnation FROM worker").incarnation}
    deltas = [delta for frame in frames for delta in frame.deltas]
    assert {delta.job for delta in deltas} == {bench.job}
    assert sum(delta.calls for delta in deltas) == 3


def test_who_waits_for_a_message_can_be_had_answered(bench: Any, own_broker: OwnBroker) -> None:
    (login,) = (login for login in bench.handed if login.role == WORKER)
    url = f"redis://{login_name(WORKER)}:{login.password}@127.0.0.1:{own_broker.port}/0"
    asked = connect(url, block_seconds=PATIENCE).connection_pool.get_connection()
    asked.send_command("CLIENT", "ID")
    asking = app._Asking(url, int(asked.read_response()))
    answers: list[object] = []
    asked.send_command("BRPOP", "edbench.nothing", 0)
    waiter = threading.Thread(target=lambda: answers.append(asked.read_response()))
    waiter.start()
    try:
        bench.until(lambda: asking.no_more() or answers)
    finally:
        own_broker.kill()  # or the thread would wait for ever
        waiter.join(PATIENCE)
    assert answers == [None]


def test_stopping_workers_lose_no_message(bench: Any) -> None:
    bench.tasks(*[{"do": "nothing"}] * 1_000)
    workers = [bench.start(f"w{n}", slots=2) for n in range(2)]
    assert bench.send() == 1_000
    for n, worker in enumerate(workers):
        count = f"SELECT 1 FROM task WHERE state = 'done' AND worker = 'w{n}' LIMIT 1"
        bench.until(lambda count=count: bench.rows(count))
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    bench.start("w9", slots=2)
    bench.until(lambda: bench.done(resend=False))
    assert bench.one("SELECT max(attempt) AS most FROM task").most == 1
