"""The audit of the lock, against a database of this test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "audit.py"
Answer = Callable[[dict[str, Any]], object]


class _Database(HTTPServer):
    answer: Answer


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, _Database)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"results": [self.server.answer(query) for query in asked["queries"]]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def database() -> Iterator[_Database]:
    server = _Database(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def audit(url: str) -> tuple[int, list[str]]:
    env = {**os.environ, "EDBENCH_OSV": url, "no_proxy": "*"}
    done = subprocess.run([sys.executable, SCRIPT], env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def url_of(server: _Database) -> str:
    return f"http://127.0.0.1:{server.server_port}/v1/querybatch"


def knows(*vulnerable: str) -> Answer:
    """A database in which these packages have a vulnerability, and the canary, as every database says."""

    def answer(query: dict[str, Any]) -> object:
        old = (query["package"]["name"], query["version"]) == ("jinja2", "2.4.1")
        bad = old or query["package"]["name"] in vulnerable
        return {"vulns": [{"id": f"PYSEC-{query['package']['name']}"}]} if bad else {}

    return answer


def test_a_vulnerable_package_fails(database: _Database) -> None:
    """By name, version and id; everything in the lock was asked for."""
    database.answer = knows("celery")
    status, lines = audit(url_of(database))
    assert status == 1
    assert next(line for line in lines if "celery" in line).endswith(": PYSEC-celery")
    assert lines[-1].endswith("1 open vulnerabilities")


def test_nothing_known_is_said(database: _Database) -> None:
    """With how much was asked for."""
    database.answer = knows()
    status, (line,) = audit(url_of(database))
    assert (status, line.startswith("audited 1"), line.endswith(" 0 open vulnerabilities")) == (0, True, True)


def test_no_database_is_one_line_and_no_failure() -> None:
    """Nothing listens there."""
    status, (line,) = audit("http://127.0.0.1:9/v1/querybatch")
    assert status == 0
    assert line.startswith("audit skipped: no vulnerability database")


@pytest.mark.parametrize("answer", [lambda _: {}, lambda _: None])
def test_a_database_that_knows_nothing_is_none(database: _Database, answer: Answer) -> None:
    """An empty mirror is not taken for good news."""
    database.answer = answer
    status, (line,) = audit(url_of(database))
    assert status == 0
    assert line.startswith("audit skipped:")
