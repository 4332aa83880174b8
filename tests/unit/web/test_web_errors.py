"""Errors as answers: what people and programs are told while a database does not answer."""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from controller.browse.counts import EXCEPTION_FIELDS
from core.csv_cells import csv_cells
from core.errors import DatabaseFault, EdbenchError, SystemFault
from sql.session import Database
from web import errors
from web.api.exceptions import csv_answer
from web.context import DatabaseHealth
from web.errors import line_of
from web.pages import error_page
from web.token import Door

GONE = DatabaseFault("database db1: it cannot be reached", transient=True)
FULL = DatabaseFault("database db1: no space left", transient=False)


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.state.context, app.state.door, app.state.error_page = None, Door("0123456789abcdef"), error_page
    errors.install(app)

    @app.get("/api/v1/jobs")
    @app.get("/jobs/1")
    def jobs() -> None:
        raise GONE

    return TestClient(app)


def test_a_database_that_does_not_answer_is_a_sentence_with_what_happens_to_the_job(client: TestClient) -> None:
    """Not a bare 503; the page reloads itself, because waiting helps."""
    page = client.get("/jobs/1")
    assert page.status_code == 503
    assert "The database does not answer; your job waits and resumes when it does" in page.text
    assert '<meta http-equiv="refresh"' in page.text
    answer = client.get("/api/v1/jobs")
    assert answer.status_code == 503
    assert answer.json()["error"].startswith("the database does not answer; your job waits and resumes")
    assert "db1" in answer.json()["error"]


@pytest.mark.parametrize("fault", [FULL, SystemFault("the broker is gone")])
def test_no_other_fault_promises_that_waiting_helps(fault: EdbenchError) -> None:
    assert line_of(fault) == str(fault)


def test_a_page_that_does_not_exist_is_not_reloaded(client: TestClient) -> None:
    assert "refresh" not in client.get("/nothing").text


def test_a_reader_who_is_slow_holds_no_rows() -> None:
    over: list[bool] = []

    def rows() -> Generator[dict[str, str], None, None]:
        try:
            yield from ({"a": f"row {n}", "b": "1"} for n in range(100_000))
        finally:
            over.append(True)

    response = csv_answer("x", rows(), ("a", "b"))
    assert over

    async def read() -> bytes:
        return b"".join([bytes(piece) async for piece in response.body_iterator])  # type: ignore[arg-type]

    lines = asyncio.run(read()).decode().split("\r\n")
    assert (lines[0], lines[1], lines[-2], len(lines)) == ("a,b", "row 0,1", "row 99999,1", 100_002)


def test_what_fails_in_the_middle_sends_nothing() -> None:
    def rows() -> Generator[dict[str, str], None, None]:
        yield {"a": "1"}
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError, match="gone"):
        csv_answer("x", rows(), ("a",))


@pytest.mark.parametrize(("raw", "wanted"), [(False, "'=cmd|'/c calc'!A0 / b"), (True, "=cmd|'/c calc'!A0 / b")])
def test_a_name_is_no_formula(raw: bool, wanted: str) -> None:
    """Whatever a collection calls its files; `raw` leaves it as it is."""
    row = dict.fromkeys(EXCEPTION_FIELDS) | {"container_path": ["=cmd|'/c calc'!A0", "b"]}
    reported = dict(zip(EXCEPTION_FIELDS, csv_cells(row, EXCEPTION_FIELDS, raw=raw), strict=True))
    assert reported["container_path"] == wanted


def test_databases_are_asked_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    now = 100.0

    @contextmanager
    def transaction(self: Database) -> Iterator[Any]:
        asked.append(self.name)
        raise DatabaseFault(f"database {self.name}: it cannot be reached", transient=True)
        yield

    monkeypatch.setattr(Database, "transaction", transaction)
    health = DatabaseHealth([Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")], now=lambda: now)
    assert health.states() == {"db1": "database db1: it cannot be reached"}
    now += 0.9
    health.states()
    assert asked == ["db1"]
    now += 0.2
    health.states()
    assert asked == ["db1", "db1"]
