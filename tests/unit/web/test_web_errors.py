"""Errors as answers: what people and programs are told while a database does not answer."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from core.errors import DatabaseFault, EdbenchError, SystemFault
from web import errors
from web.door import Door
from web.errors import line_of
from web.pages import error_page

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
