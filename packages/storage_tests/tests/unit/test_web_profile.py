"""The page beside a command that runs a profile."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from core.settings import Settings
from storage_tests.live import Live
from storage_tests.routes import shown
from storage_tests.tally import Counters
from web.app import create_app
from web.context import WebContext
from web.door import Door
from web.guests import BesideCommand

TOKEN = "the token of these tests"


def _client(tmp_path: Path, live: Live | None) -> TestClient:
    context = WebContext(
        settings=Settings(storage=tmp_path), databases=(), embedded=True, runner=BesideCommand(), door=Door(TOKEN),
        shown=None if live is None else shown(live),
    )  # fmt: skip
    return TestClient(create_app(context), base_url="http://localhost", headers={"Authorization": f"Bearer {TOKEN}"})


def test_it_shows_what_the_profile_does(tmp_path: Path) -> None:
    live = Live("insert-drift", Counters(tmp_path / "counters", 2), [tmp_path])
    live.run("shared, 2 clients")
    live.look()
    live.say("<b>done</b>")
    client = _client(tmp_path, live)
    told = client.get("/api/v1/profile/timeline").json()
    assert told["profile"] == "insert-drift"
    assert told["phases"][0]["phase"] == "shared, 2 clients"
    assert {"moved", "files"} <= {panel["id"] for panel in told["panels"]}
    page = client.get("/")
    assert page.url.path == "/profile"
    assert "/static/js/profile.js" in page.text
    assert "&lt;b&gt;done&lt;/b&gt;" in page.text
    assert 'href="/profile"' in client.get("/results").text


def test_elsewhere_there_is_none(tmp_path: Path) -> None:
    client = _client(tmp_path, None)
    answer = client.get("/api/v1/profile/timeline")
    assert answer.status_code == 404
    assert "runs no storage test" in answer.json()["error"]
    assert "/profile" not in client.get("/results").text


def test_nobody_sees_it_without_the_token(tmp_path: Path) -> None:
    live = Live("insert-drift", Counters(tmp_path / "counters", 2), [tmp_path])
    client = _client(tmp_path, live)
    assert client.get("/api/v1/profile/timeline", headers={"Authorization": ""}).status_code == 401
