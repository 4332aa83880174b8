"""A database whose processes are frozen keeps its connections: requests get an answer nevertheless."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from sql.session import Database
from web import app as silence
from web import context
from web.app import Silence
from web.context import DatabaseHealth


class Frozen:
    """A database that answers nothing until it is thawed."""

    def __init__(self) -> None:
        self.asked, self.thawed = threading.Event(), threading.Event()

    @contextmanager
    def transaction(self, database: Database) -> Iterator[Any]:
        self.asked.set()
        self.thawed.wait(30)
        yield self

    def exec_driver_sql(self, _: str) -> None:
        """Nothing to find."""


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Frozen]:
    made = Frozen()
    monkeypatch.setattr(silence, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(context, "_SILENT_SECONDS", 0.02)
    monkeypatch.setattr(Database, "transaction", lambda database: made.transaction(database))
    yield made
    made.thawed.set()


def _asked(waits: Callable[[], object]) -> list[Any]:
    """The messages of the answer to one request, whose route calls `waits` in a thread."""
    sent: list[Any] = []

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.to_thread(waits)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"found"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    health = DatabaseHealth([Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")])
    scope = {"type": "http", "path": "/api/v1/jobs", "method": "GET", "headers": [], "query_string": b""}

    asyncio.run(Silence(route, health)(scope, receive, send))
    return sent


def test_a_frozen_database_is_reported(frozen: Frozen) -> None:
    threading.Timer(0.5, frozen.thawed.set).start()  # else the loop's threads keep the test from its end
    start, body = _asked(frozen.thawed.wait)
    assert start["status"] == 503
    assert b"the database does not answer; your job waits and resumes when it does" in body["body"]


def test_a_slow_request_is_waited_for_while_the_database_answers(frozen: Frozen) -> None:
    frozen.thawed.set()
    start, body = _asked(lambda: threading.Event().wait(0.2))
    assert (start["status"], body["body"]) == (200, b"found")


def test_health_reports_it_to_every_other_request(frozen: Frozen) -> None:
    health = DatabaseHealth([Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")])
    first = threading.Thread(target=health.states)
    first.start()
    assert frozen.asked.wait(30)
    try:
        assert "no answer for" in health.states()["db1"]
    finally:
        frozen.thawed.set()
        first.join()
    assert health.states() == {"db1": "ok"}
