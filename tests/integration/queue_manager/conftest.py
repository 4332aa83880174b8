"""A queue manager's surroundings: a ledger with jobs, and a broker whose messages can be looked at."""

import json
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from made_records import new_job

from core.celery_app import queue_name
from core.records import JobOptions, NewTask, Phase
from sql import jobs
from sql.session import Database
from sql.workers import NewWorker, register


class Mailbox:
    """The broker's queue of database db1, from the outside."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url)

    def take(self) -> list[tuple[uuid.UUID, uuid.UUID]]:
        """(job, task) of all messages, in order; they are gone then, as after early acknowledgement."""
        out = []
        while (raw := self.client.rpop(queue_name("db1"))) is not None:
            message = json.loads(raw)  # type: ignore[arg-type]
            assert message["headers"]["task"] == "edbench.run"
            (database, job, task), _, _ = json.loads(b64decode(message["body"]))
            assert database == "db1"
            out.append((uuid.UUID(job), uuid.UUID(task)))
        return out


@pytest.fixture
def mailbox(broker_url: str) -> Iterator[Mailbox]:
    """The messages at the broker."""
    box = Mailbox(broker_url)
    yield box
    box.client.close()


@pytest.fixture
def create_job(database: Database) -> Callable[..., uuid.UUID]:
    """Create a job with so many walk tasks."""

    def create(tasks: int, options: JobOptions | None = None) -> uuid.UUID:
        job = uuid.uuid4()
        walk = [NewTask(phase=Phase.WALK, weight=n, payload={}) for n in range(tasks)]
        with database.transaction(durable=True) as conn:
            jobs.create_job(conn, new_job(job, walk, options=options or JobOptions()))
        return job

    return create


@pytest.fixture
def add_slots(database: Database) -> Callable[[int], uuid.UUID]:
    """Register a worker of so many slots, that needs no more signs of life to count as one that lives."""

    def add(slots: int) -> uuid.UUID:
        incarnation = uuid.uuid4()
        with database.transaction() as conn:
            register(
                conn,
                NewWorker(incarnation=incarnation, name="w", host="h", pid=1, boot_id="", slots=slots, version="0"),
            )
            conn.execute("UPDATE worker SET seen_at = seen_at + interval '1 hour'")
        return incarnation

    return add


@pytest.fixture
def states_of(database: Database) -> Callable[[uuid.UUID], dict[str, int]]:
    """How many tasks of a job are in each state."""

    def states(job: uuid.UUID) -> dict[str, int]:
        sql = "SELECT state, count(*) FROM task WHERE job = %(job)s GROUP BY state"
        with database.transaction() as conn:
            rows: list[Any] = list(conn.execute(sql, {"job": job}).all())
        return dict(rows)

    return states
