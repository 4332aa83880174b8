"""monitoring.sender against a real broker that is killed, stopped and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from installation import PATIENCE, until
from ports import own_ports

from core.services.binaries import valkey_server
from monitoring.broker import TIMEOUT_SECONDS
from monitoring.collector import Collector
from monitoring.frames import FrameMaker, decode_frame
from monitoring.sender import FIELD, STREAM, FrameSender


class Broker:
    """A broker of this test's own."""

    def __init__(self, directory: Path, port: int) -> None:
        self.port = port
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._directory = directory
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._directory)]
        self.process = subprocess.Popen([str(valkey_server()), *options], stdout=subprocess.DEVNULL)
        until(self.answers)

    def answers(self) -> bool:
        try:
            return bool(redis.Redis.from_url(self.url).ping())
        except redis.RedisError:
            return False

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)
        if number == signal.SIGKILL:
            self.process.wait()

    def sequences(self) -> list[int]:
        """In order, each once: a batch whose answer came too late is sent again, and the collector knows that."""
        entries = redis.Redis.from_url(self.url).xrange(STREAM)
        return list(dict.fromkeys(decode_frame(fields[FIELD]).sequence for _, fields in entries))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with own_ports() as port:
        broker = Broker(tmp_path, port)
        try:
            broker.start()
            yield broker
        finally:
            broker.signal(signal.SIGCONT)
            broker.signal(signal.SIGKILL)


def send(sender: FrameSender, maker: FrameMaker, second: int) -> bool:
    frame = maker.frame([], float(second))
    assert frame is not None
    return sender.send(frame)


def test_frames_are_kept_while_the_broker_is_dead(broker: Broker) -> None:
    sender, maker = FrameSender(broker.url), FrameMaker("w", uuid.uuid4())
    send(sender, maker, 1)
    until(sender.flush)
    broker.signal(signal.SIGKILL)
    assert not any(send(sender, maker, second) for second in range(2, 130))
    assert (sender.waiting, sender.lost) == (128, 0)
    broker.start()
    until(sender.flush)
    assert broker.sequences() == list(range(2, 130))  # 1 died with the broker


def test_the_oldest_are_dropped_and_counted(broker: Broker) -> None:
    sender, maker = FrameSender(broker.url, held=10), FrameMaker("w", uuid.uuid4())
    broker.signal(signal.SIGKILL)
    for second in range(1, 26):
        send(sender, maker, second)
    assert (sender.waiting, sender.lost) == (10, 15)
    broker.start()
    until(sender.flush)
    assert broker.sequences() == list(range(16, 26))
    sender.close()


def test_a_hanging_broker_does_not_hold_up_the_worker(broker: Broker) -> None:
    """A stopped broker accepts connections and never answers: `send` returns all the same, and soon."""
    sender, maker = FrameSender(broker.url), FrameMaker("w", uuid.uuid4())
    send(sender, maker, 1)
    broker.signal(signal.SIGSTOP)
    for second in (2, 3):
        assert not send(sender, maker, second)
    assert TIMEOUT_SECONDS <= 1.0
    broker.signal(signal.SIGCONT)
    until(sender.flush)
    assert set(broker.sequences()) == {1, 2, 3}


def test_the_collector_outlives_its_broker(broker: Broker) -> None:
    """`run` goes on when the broker dies and comes back, and says meanwhile what the matter is."""
    sender, maker = FrameSender(broker.url), FrameMaker("w", uuid.uuid4())
    collector = Collector(broker.url, {}, block_seconds=0.2)
    thread = threading.Thread(target=collector.run)
    thread.start()
    try:
        send(sender, maker, 1)
        until(lambda: collector.frames == 1)
        broker.signal(signal.SIGKILL)
        until(lambda: "broker" in (collector.problem or ""))
        send(sender, maker, 2)
        broker.start()
        until(sender.flush)
        until(lambda: collector.frames == 2)
        until(lambda: collector.problem is None)
    finally:
        collector.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
