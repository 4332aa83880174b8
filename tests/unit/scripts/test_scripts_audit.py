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
        self._send({"results": [self.server.answer(query) for query in asked["queries"]]})

    def do_GET(self) -> None:
        """Of one vulnerability."""
        self._send({"id": self.path.rpartition("/")[2], "modified": "2026-01-01T00:00:00Z", "affected": []})

    def _send(self, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
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
    return done.returncode, (done.stdout + done.stderr).splitlines()


def url_of(server: _Database) -> str:
    return f"http://127.0.0.1:{server.server_port}/"


def knows(*vulnerable: str) -> Answer:
    """A database in which these packages have a vulnerability, and the canary, as every database says."""

    def answer(query: dict[str, Any]) -> object:
        package = query["package"]
        name = package.get("name") or package["purl"].rpartition("@")[0].rpartition("/")[2]
        bad = "jinja2@2.4.1" in package.get("purl", "") or name in vulnerable
        return {"vulns": [{"id": f"PYSEC-2026-{len(name)}", "modified": "2026-01-01T00:00:00Z"}]} if bad else {}

    return answer


def test_a_vulnerable_package_fails(database: _Database) -> None:
    database.answer = knows("celery", "libarchive")
    status, lines = audit(url_of(database))
    assert status == 1
    assert lines[0] == "pkg:generic/libarchive@3.8.10 in archi: PYSEC-2026-10"
    assert any("celery" in line for line in lines)
    assert any("PYSEC-2026-6" in line for line in lines)


def test_nothing_known_is_reported(database: _Database) -> None:
    database.answer = knows()
    status, lines = audit(url_of(database))
    assert (status, lines[0].endswith(" components of wheels: 0 open vulnerabilities")) == (0, True)


@pytest.mark.parametrize("there", [True, False])
def test_no_database_is_one_line_and_no_failure(database: _Database, there: bool) -> None:
    database.answer = lambda _: {}
    status, (line,) = audit(url_of(database) if there else "http://127.0.0.1:9/")
    assert status == 0
    assert line.startswith("audit skipped: no vulnerability database")
