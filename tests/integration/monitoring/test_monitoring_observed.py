"""Observations and steps of calls, from a worker's frame to the tables, over a real broker and PostgreSQL."""

import time
import uuid
from typing import Any

import pytest
import redis
from installation import until
from made_records import delta
from statements import add_row

from core.histogram import Histogram, merged
from core.records import JobOptions
from monitoring.aggregate import STEPS
from monitoring.broker import STREAM, FrameSender
from monitoring.collector import Collector
from monitoring.frames import CounterDelta, FrameMaker
from monitoring.observations import BLOCK, WORKER, Observation
from sql import deletion
from sql.session import Database

LONGEST = STEPS[-1]


def new_job(database: Database, state: str = "running") -> uuid.UUID:
    job = uuid.uuid4()
    row = {"name": "j", "phase": "walk", "source": b"/s", "source_device": 1, "source_inode": 2}
    with database.transaction() as conn:
        add_row(conn, "job", id=job, state=state, storage=b"/s", surroundings={}, options=JobOptions().to_json(), **row)
    return job


def rows(database: Database, sql: str) -> list[Any]:
    with database.transaction() as conn:
        return list(conn.execute(sql).all())


def collect(broker_url: str, database: Database) -> Collector:
    collector = Collector(broker_url, {"db1": database})
    while collector.step(block=False):
        pass
    return collector


def send(broker_url: str, maker: FrameMaker, at: float, deltas: list[CounterDelta], *seen: Observation) -> None:
    frame = maker.frame(deltas, at, seen)
    assert frame is not None
    sender = FrameSender(broker_url)
    if not sender.send(frame):  # the broker had no second for us
        until(sender.flush)


def test_what_several_workers_see_of_a_host_counts_once(database: Database, broker_url: str) -> None:
    """One row for each second, kind and source; a frame that comes twice changes nothing."""
    new_job(database)
    now = time.time()
    one, two = FrameMaker("w1", uuid.uuid4()), FrameMaker("w2", uuid.uuid4())
    disk = Observation(BLOCK, "boot:sda", {"reads": 5})
    send(broker_url, one, now, [], Observation(WORKER, "w1", {"cpu_s": 1}), disk)
    send(broker_url, two, now, [], Observation(WORKER, "w2", {"cpu_s": 2}), disk)
    client = redis.Redis.from_url(broker_url)
    entries: Any = client.xrange(STREAM)
    collect(broker_url, database)
    for _, fields in entries:
        client.xadd(STREAM, fields)
    collect(broker_url, database)
    found = rows(database, 'SELECT kind, source, second, job, "values" FROM observation ORDER BY kind, source')
    assert [(r.kind, r.source, r.job) for r in found] == [
        ("block", "boot:sda", None),
        ("worker", "w1", None),
        ("worker", "w2", None),
    ]
    assert all(r.second == int(now) for r in found)
    assert found[2].values == {
        "cpu_s": 2,
        "taken": pytest.approx(now % 1, abs=0.001),
    }  # two looks a second may lie 2 s apart


def test_idle_workers_write_nothing(database: Database, broker_url: str) -> None:
    """An installation that waits for weeks must not fill its database with seconds in which nothing ran."""
    maker = FrameMaker("w1", uuid.uuid4())
    send(broker_url, maker, time.time(), [], Observation(WORKER, "w1", {}))
    collect(broker_url, database)
    new_job(database, "paused")
    with database.transaction() as conn:
        conn.execute("UPDATE job SET stopped_at = now() - interval '1 hour'")
    send(broker_url, maker, time.time() + 1, [], Observation(WORKER, "w1", {}))
    collect(broker_url, database)
    assert rows(database, "SELECT * FROM observation") == []
    with database.transaction() as conn:
        conn.execute("UPDATE job SET state = 'running', stopped_at = NULL")
    send(broker_url, maker, time.time() + 2, [], Observation(WORKER, "w1", {}))
    collect(broker_url, database)
    assert len(rows(database, "SELECT * FROM observation")) == 1


def test_steps_are_the_sum_of_the_seconds_stored(database: Database, broker_url: str) -> None:
    job, other = new_job(database), new_job(database)
    makers = [FrameMaker("w1", uuid.uuid4()), FrameMaker("w2", uuid.uuid4())]
    client = redis.Redis.from_url(broker_url)
    sent = []
    for second in (LONGEST - 1, LONGEST, LONGEST + 1, LONGEST + 40, 2 * LONGEST + 100):
        for number, maker in enumerate(makers):
            sent.append(delta([1_000_000 * (number + 1)] * (second % 7 + number), job))
            send(broker_url, maker, float(second), [sent[-1], delta([5_000], other)])
        if second != LONGEST:
            entries: Any = client.xrange(STREAM)
            collect(broker_url, database)
            for _, fields in entries:
                client.xadd(STREAM, fields)
    collect(broker_url, database)
    whole = merged(one.histogram for one in sent)
    for step in STEPS:
        found = rows(database, f"SELECT * FROM call_step WHERE step = {step} AND job = '{job}' ORDER BY second")
        assert sum(row.calls for row in found) == whole.total
        assert merged(Histogram.decode(row.histogram) for row in found) == whole
        assert all(row.second % step == 0 for row in found)
    last = rows(database, f"SELECT * FROM call_step WHERE step = {LONGEST} AND job = '{job}' AND second = {LONGEST}")[0]
    middle = merged(one.histogram for one in sent[2:8])
    assert (last.p50_ns, last.p95_ns, last.p99_ns) == tuple(middle.percentiles((50, 95, 99), 2_000_000))
    assert rows(database, f"SELECT sum(calls) FROM call_step WHERE step = 1 AND job = '{other}'")[0][0] == 10


def test_deleting_a_job_takes_its_observations_and_what_is_older_than_all_jobs(database: Database) -> None:
    first, second = new_job(database, "completed"), new_job(database, "completed")
    with database.transaction() as conn:
        conn.execute(
            "UPDATE job SET created_at = to_timestamp(CASE id WHEN %(first)s THEN 10000 ELSE 50000 END)",
            {"first": first},
        )
        for at, job in ((10_001, None), (10_001, first), (50_001, None), (50_001, second)):
            add_row(conn, "observation", second=at, kind="queue", source="x", job=job, values={})
    deletion.delete_rows(database, first)
    assert [(r.second, r.job) for r in rows(database, "SELECT * FROM observation ORDER BY second, job")] == [
        (50_001, second),
        (50_001, None),
    ]
    deletion.delete_rows(database, second)
    assert rows(database, "SELECT * FROM observation") == []
