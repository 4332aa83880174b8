"""monitoring.collector and monitoring.aggregate over a real broker and a real PostgreSQL."""

import contextlib
import mmap
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import redis
from installation import PATIENCE, until
from made_records import delta
from ports import own_ports
from servers import OWNER, superuser_url
from statements import add_row

from controller.observe.metrics import read_backlog
from core.errors import DatabaseFault, SourceFileError
from core.operations import Op
from core.records import JobOptions, Phase
from core.services.binaries import valkey_server
from core.settings import Settings
from core.storage.layer import Storage
from monitoring.aggregate import calls_by_op, rate_now
from monitoring.broker import FIELD, STREAM, TIMEOUT_SECONDS, FrameSender, connect
from monitoring.collector import Collector
from monitoring.frames import CounterDelta, FrameMaker, decode_frame
from monitoring.live import REGION_BYTES, LiveRecorder, RegionReader
from sql.migrate import migrate
from sql.session import Database


@pytest.fixture
def job(database: Database) -> uuid.UUID:
    job = uuid.uuid4()
    with database.transaction() as conn:
        row = {"name": "j", "state": "running", "phase": "walk", "source": b"/s", "source_device": 1, "source_inode": 2}
        add_row(conn, "job", id=job, storage=b"/s", surroundings={}, options=JobOptions().to_json(), **row)
    return job


@pytest.fixture
def incarnation(database: Database) -> uuid.UUID:
    incarnation = uuid.uuid4()
    with database.transaction() as conn:
        row = {"incarnation": incarnation, "name": "w", "host": "h", "pid": 1, "slots": 4, "version": "0"}
        add_row(conn, "worker", **row, seen_at="now")
    return incarnation


def calls(job: uuid.UUID, values: list[int], *, op: Op = Op.READ, phase: Phase = Phase.EXPAND) -> CounterDelta:
    return delta(values, job, op=op, phase=phase, bytes=100 * len(values))


def worker_row(database: Database, incarnation: uuid.UUID) -> tuple[int, int, float]:
    with database.transaction() as conn:
        look = "SELECT frames_sequence, frames_lost, frames_through FROM worker WHERE incarnation = %(incarnation)s"
        return tuple(conn.execute(look, {"incarnation": incarnation}).one())


def send(sender: FrameSender, maker: FrameMaker, deltas: list[CounterDelta], now: float) -> None:
    frame = maker.frame(deltas, now)
    assert frame is not None
    if not sender.send(frame):  # the broker had no second for us
        until(sender.flush)


def drain(collector: Collector) -> None:
    while collector.step(block=False):
        pass


def calls_in_phases(conn: Any) -> dict[tuple[Phase, Op], int]:
    rows = conn.execute("SELECT phase, op, sum(calls) AS calls FROM call_second GROUP BY phase, op")
    return {(Phase(row.phase), Op(row.op)): int(row.calls) for row in rows}


def test_calls_arrive_and_add_up(database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID) -> None:
    """What workers counted is what `calls_by_op`, the phases and the rate say."""
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    collector = Collector(broker_url, {"db1": database})
    send(sender, maker, [calls(job, [1_000_000] * 99)], 100.0)
    send(sender, maker, [calls(job, [8_000_000_000], phase=Phase.INDEX), calls(job, [5_000] * 3, op=Op.STAT)], 101.0)
    send(sender, maker, [], 102.5)
    drain(collector)
    with database.transaction() as conn:
        totals = calls_by_op(conn, job)
        by_phase = calls_in_phases(conn)
        rate = rate_now(conn, job, seconds=5)
    assert list(totals) == ["stat", "read"]
    read = totals["read"]
    assert (read.calls, read.bytes, read.errors, read.max_us) == (100, 10_000, 0, 8_000_000.0)
    assert read.p50_us == pytest.approx(1000, rel=0.04)
    assert read.p99_us == pytest.approx(1000, rel=0.04)
    assert {phase for phase, _ in by_phase} == {Phase.EXPAND, Phase.INDEX}
    assert by_phase[Phase.INDEX, Op.READ] == 1
    assert rate == pytest.approx(103 / 3)  # seconds 100 to 102
    assert worker_row(database, incarnation) == (3, 0, 102.5)
    assert redis.Redis.from_url(broker_url).xlen(STREAM) == 0


def test_an_idle_worker_brings_the_rate_down(
    database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    """A filer that hangs shows as zero calls a second, not as the last good rate."""
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    collector = Collector(broker_url, {"db1": database})
    send(sender, maker, [calls(job, [1_000] * 50)], 100.0)
    for second in range(101, 110):
        send(sender, maker, [], float(second))
    drain(collector)
    with database.transaction() as conn:
        assert rate_now(conn, job) == 0


def test_a_clock_that_was_set_back_is_followed(
    database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    """The seconds of frames go on from the highest one. The rate is of the latest ones, not of all since then, and a job that ends
    by the clock of now does not have its last calls because an earlier frame stated a later time."""
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    collector = Collector(broker_url, {"db1": database})
    for now in (*range(100, 110), *range(40, 70)):
        send(sender, maker, [calls(job, [1_000] * 7)], float(now))
    drain(collector)
    with database.transaction() as conn:
        assert rate_now(conn, job) == 7
    assert worker_row(database, incarnation) == (40, 0, 69.0)


def test_frames_that_come_twice_count_once(
    database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    client = redis.Redis.from_url(broker_url)
    for second in (10.0, 11.0):
        send(sender, maker, [calls(job, [1_000] * 5)], second)
    entries = client.xrange(STREAM)
    for _ in range(2):  # a new collector each time: nothing depends on its memory
        drain(Collector(broker_url, {"db1": database}))
        for _, fields in [*entries, *entries]:
            client.xadd(STREAM, fields)
    drain(Collector(broker_url, {"db1": database}))
    with database.transaction() as conn:
        assert calls_by_op(conn, job)["read"].calls == 10
    assert worker_row(database, incarnation) == (2, 0, 11.0)


def test_gaps_count_as_lost_across_collectors(
    database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    client = redis.Redis.from_url(broker_url)
    for second in range(1, 10):
        send(sender, maker, [], float(second))
        if second in (2, 3, 6):
            client.delete(STREAM)  # the broker came back empty
        if second == 4:
            drain(Collector(broker_url, {"db1": database}))
    drain(Collector(broker_url, {"db1": database}))
    sequence, lost, _ = worker_row(database, incarnation)
    assert (sequence, lost) == (9, 5)  # 1, 2 and 3; 5 and 6


def test_unknown_jobs_and_garbage_are_dropped_and_counted(
    database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    redis.Redis.from_url(broker_url).xadd(STREAM, {FIELD: b"garbage"})
    redis.Redis.from_url(broker_url).xadd(STREAM, {b"other": b"x"})
    send(sender, maker, [calls(uuid.uuid4(), [1_000]), calls(job, [1_000])], 1.0)
    collector = Collector(broker_url, {"db1": database})
    drain(collector)
    assert (collector.frames, collector.unknown, collector.undecodable) == (1, 1, 2)
    with database.transaction() as conn:
        conn.execute("DELETE FROM job")
    send(sender, maker, [calls(job, [1_000])], 2.0)  # the collector still believes in this job
    drain(collector)
    assert worker_row(database, incarnation)[0] == 2


def test_a_database_that_is_away_costs_nothing(
    services: Settings, database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    collector = Collector(broker_url, {"db1": database})
    thread = threading.Thread(target=collector.run, daemon=True)
    thread.start()
    admin = psycopg2.connect(superuser_url(services.scratch))
    admin.autocommit = True
    try:
        send(sender, maker, [calls(job, [1_000] * 2)], 1.0)
        until(lambda: worker_row(database, incarnation)[0] == 1)
        name = _name(database).strip("/?")
        with admin.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
            send(sender, maker, [calls(job, [1_000] * 3)], 2.0)
            until(lambda: collector.problem is not None)
            assert redis.Redis.from_url(broker_url).xlen(STREAM) == 1
            with pytest.raises(DatabaseFault), database.transaction():
                pass
            cursor.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        until(lambda: redis.Redis.from_url(broker_url).xlen(STREAM) == 0)
        with database.transaction() as conn:
            assert calls_by_op(conn, job)["read"].calls == 5
        assert worker_row(database, incarnation)[:2] == (2, 0)
    finally:
        admin.close()
        collector.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def test_each_job_goes_to_its_own_database(
    services: Settings, database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID
) -> None:
    name = f"test_{uuid.uuid4().hex}"
    admin = psycopg2.connect(superuser_url(services.scratch))
    admin.autocommit = True
    with contextlib.closing(admin), admin.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
        other = Database("db0", database.url.replace(_name(database), f"/{name}?"))
        try:
            migrate(other)
            sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
            collector = Collector(broker_url, {"db0": other, "db1": database})
            send(sender, maker, [calls(job, [1_000])], 1.0)
            drain(collector)
            with other.transaction() as conn:
                assert calls_by_op(conn, job) == {}
            with database.transaction() as conn:
                assert calls_by_op(conn, job)["read"].calls == 1
        finally:
            other.dispose()
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_a_slot_called_is_what_the_job_shows(
    database: Database, broker_url: str, job: uuid.UUID, incarnation: uuid.UUID, tmp_path: Path
) -> None:
    """From the storage layer of another process, killed at the end, to `calls_by_op`: every call, byte and error."""
    shared = mmap.mmap(-1, REGION_BYTES)
    root = os.fsencode(tmp_path)
    pid = os.fork()
    if pid == 0:
        try:
            recorder = LiveRecorder(memoryview(shared))
            recorder.select(job, Phase.EXPAND)
            storage = Storage(recorder)
            for n in range(50):
                storage.write_file(root + b"/%d" % n, [b"x" * 100])
            recorder.select(job, Phase.INDEX)
            for n in range(51):
                with contextlib.suppress(SourceFileError), storage.open(root + b"/%d" % n) as file:
                    file.read()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    sender, maker = FrameSender(broker_url), FrameMaker("w", incarnation)
    send(sender, maker, RegionReader(memoryview(shared)).collect(), 1.0)
    drain(Collector(broker_url, {"db1": database}))
    with database.transaction() as conn:
        found = calls_by_op(conn, job)
        by_phase = calls_in_phases(conn)
    assert {op: (t.calls, t.bytes, t.errors) for op, t in found.items()} == {
        "open": (51, 0, 1),
        "read": (50, 5000, 0),
        "create": (50, 0, 0),
        "write": (50, 5000, 0),
        "close": (100, 0, 0),
        "rename": (50, 0, 0),
    }
    assert all(0 < t.p50_us <= t.p99_us <= t.max_us for t in found.values())
    assert (by_phase[Phase.EXPAND, Op.CLOSE], by_phase[Phase.INDEX, Op.CLOSE]) == (50, 50)


def _name(database: Database) -> str:
    return "/" + database.url.rpartition("/")[2].partition("?")[0] + "?"


def test_the_oldest_frame_states_how_far_the_collector_is_behind(broker_url: str) -> None:
    """Nothing waits: 0 and no age. Else all are counted, and the first one's age is by the broker's clock."""
    client = connect(broker_url)
    try:
        assert (read_backlog(client).frames, read_backlog(client).oldest_seconds) == (0, 0.0)
        minute_ago = int((time.time() - 60) * 1000)
        client.xadd(STREAM, {FIELD: b"x"}, id=f"{minute_ago}-0")
        client.xadd(STREAM, {FIELD: b"y"})
        found = read_backlog(client)
        assert found.frames == 2
        assert 59 < found.oldest_seconds < 120
    finally:
        client.close()


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


def submitted(sender: FrameSender, maker: FrameMaker, second: int) -> bool:
    frame = maker.frame([], float(second))
    assert frame is not None
    return sender.send(frame)


def test_frames_are_kept_while_the_broker_is_dead(broker: Broker) -> None:
    sender, maker = FrameSender(broker.url), FrameMaker("w", uuid.uuid4())
    submitted(sender, maker, 1)
    until(sender.flush)
    broker.signal(signal.SIGKILL)
    assert not any(submitted(sender, maker, second) for second in range(2, 130))
    assert (sender.waiting, sender.lost) == (128, 0)
    broker.start()
    until(sender.flush)
    assert broker.sequences() == list(range(2, 130))  # 1 died with the broker


def test_the_oldest_are_dropped_and_counted(broker: Broker) -> None:
    sender, maker = FrameSender(broker.url, held=10), FrameMaker("w", uuid.uuid4())
    broker.signal(signal.SIGKILL)
    for second in range(1, 26):
        submitted(sender, maker, second)
    assert (sender.waiting, sender.lost) == (10, 15)
    broker.start()
    until(sender.flush)
    assert broker.sequences() == list(range(16, 26))
    sender.close()


def test_a_hanging_broker_does_not_hold_up_the_worker(broker: Broker) -> None:
    """A stopped broker accepts connections and never answers: `send` returns all the same, and soon."""
    sender, maker = FrameSender(broker.url), FrameMaker("w", uuid.uuid4())
    submitted(sender, maker, 1)
    broker.signal(signal.SIGSTOP)
    for second in (2, 3):
        assert not submitted(sender, maker, second)
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
        submitted(sender, maker, 1)
        until(lambda: collector.frames == 1)
        broker.signal(signal.SIGKILL)
        until(lambda: "broker" in (collector.problem or ""))
        submitted(sender, maker, 2)
        broker.start()
        until(sender.flush)
        until(lambda: collector.frames == 2)
        until(lambda: collector.problem is None)
    finally:
        collector.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
