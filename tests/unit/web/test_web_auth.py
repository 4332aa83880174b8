"""Who may come in: tokens, sessions, names, and pages of other sites."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from core.errors import UsageError
from web.auth import COOKIE, SESSION_SECONDS, Door, Guard, is_loopback, read_token
from web.headers import SafeHeaders
from web.sessions import inner
from web.sessions import router as sessions

TOKEN = "0123456789abcdef0123456789abcdef"
LOCAL = "http://127.0.0.1:8080"


async def _here(request: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


def _client(token: str | None, base: str = LOCAL) -> TestClient:
    """A server of one route everywhere, with the form's routes."""
    door = Door(token) if token else None
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(sessions)
    app.add_route("/{path:path}", _here, methods=["GET", "POST", "DELETE"])
    app.state.door = door
    app.add_middleware(Guard, door=door)
    app.add_middleware(SafeHeaders)
    return TestClient(app, base_url=base, follow_redirects=False)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_which_addresses_are_loopback(host: str, local: bool) -> None:
    """Only what cannot be reached from another machine."""
    assert is_loopback(host) is local


@pytest.mark.parametrize(
    ("env", "host", "wanted"),
    [
        ({}, "127.0.0.1", None),
        ({"EDBENCH_TOKEN": TOKEN}, "127.0.0.1", TOKEN),
        ({"EDBENCH_TOKEN": f" {TOKEN}\n"}, "0.0.0.0", TOKEN),
    ],
)
def test_a_token_is_optional_on_loopback(env: Mapping[str, str], host: str, wanted: str | None) -> None:
    """And used where it is given."""
    assert read_token(env, host) == wanted


@pytest.mark.parametrize(("env", "host"), [({}, "0.0.0.0"), ({"EDBENCH_TOKEN": "short"}, "127.0.0.1")])
def test_no_server_without_a_fit_token(env: Mapping[str, str], host: str) -> None:
    """One line that names the variable."""
    with pytest.raises(UsageError, match="EDBENCH_TOKEN"):
        read_token(env, host)


@given(st.text(max_size=80))
def test_no_other_text_is_the_token_or_a_session(text: str) -> None:
    """Whatever is tried, in whatever alphabet."""
    door = Door(TOKEN)
    assert door.knows(text) is (text == TOKEN)
    assert not door.admits(text, 0.0)


def test_a_session_ends_and_belongs_to_its_token() -> None:
    """It tells nothing of the token, cannot be prolonged and is no good elsewhere."""
    door = Door(TOKEN)
    session = door.session(1_000.0)
    assert TOKEN not in session
    assert door.admits(session, 1_000.0 + SESSION_SECONDS - 1)
    assert not door.admits(session, 1_000.0 + SESSION_SECONDS)
    assert not Door(TOKEN + "x").admits(session, 1_000.0)
    assert not door.admits(f"9{session}", 1_000.0)


def test_without_a_token_only_local_names_are_answered() -> None:
    """A page whose name was made to resolve to this machine gets nothing, to read or to change."""
    client = _client(None)
    for host in ("localhost:8080", "127.0.0.1", "[::1]:8080"):
        assert client.get("/", headers={"host": host}).status_code == 200
    for host in ("evil.example:8080", "127.0.0.1.evil.example", "0.0.0.0", "[bad", ""):
        for path in ("/", "/api/v1/jobs", "/static/app.css", "/login"):
            assert client.get(path, headers={"host": host}).status_code == 403, (host, path)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": LOCAL},
    ],
)
def test_other_sites_change_nothing(headers: dict[str, str]) -> None:
    """Neither on loopback nor with the cookie of a session; reading is not theirs either, for want of permission."""
    client = _client(None)
    assert client.post("/api/v1/jobs", headers=headers).status_code == 403
    assert client.delete("/api/v1/jobs/last", headers=headers).status_code == 403
    assert "access-control-allow-origin" not in client.get("/api/v1/jobs", headers=headers).headers
    client = _client(TOKEN)
    client.cookies.set(COOKIE, Door(TOKEN).session(time.time()))
    assert client.post("/api/v1/jobs", headers=headers).status_code == 403


def test_our_own_pages_and_programs_change_things() -> None:
    """A browser says that the request is of this site; a program says nothing of it."""
    client = _client(None)
    for headers in ({}, {"origin": LOCAL, "sec-fetch-site": "same-origin"}):
        assert client.post("/api/v1/jobs", headers=headers).status_code == 200


def test_with_a_token_nothing_is_shown_without_it() -> None:
    """Programs get 401 and one line, people the form; the form and what it needs are open."""
    client = _client(TOKEN, "http://filer.example:8080")
    refused = client.get("/api/v1/jobs")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    page = client.get("/jobs/last?x=1")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2Fjobs%2Flast%3Fx%3D1")
    assert client.post("/anything").status_code == 401
    for path in ("/login", "/static/app.css"):
        assert client.get(path).status_code == 200
    for header in (f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer", "Bearer é"):
        assert client.get("/api/v1/jobs", headers={"authorization": header.encode()}).status_code == 401


def test_a_bearer_token_opens_everything() -> None:
    """For reading and changing, from wherever: no page of another site could send it."""
    client = _client(TOKEN, "http://filer.example:8080")
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/api/v1/jobs", headers=headers).status_code == 200
    assert client.post("/api/v1/jobs", headers=headers | {"origin": "https://elsewhere.example"}).status_code == 200


def test_the_form_gives_a_session_and_leads_on() -> None:
    """The cookie is out of reach of scripts and other sites, and holds no token."""
    client = _client(TOKEN)
    wrong = client.post("/login", data={"token": TOKEN[:-1], "next": "/jobs"})
    assert (wrong.status_code, wrong.headers["location"], "set-cookie" in wrong.headers) == (
        303,
        "/login?failed=1",
        False,
    )
    right = client.post("/login", data={"token": TOKEN, "next": "/jobs/last"})
    cookie = right.headers["set-cookie"]
    assert right.headers["location"] == "/jobs/last"
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert TOKEN not in cookie
    assert client.get("/jobs/last").status_code == 200
    client.get("/logout")
    assert client.get("/jobs/last").status_code == 303


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nX: y", "a"])
def test_the_form_leads_nowhere_else(path: str) -> None:
    """Only to a path on this server."""
    assert inner(path) == "/"


def test_every_answer_carries_the_headers() -> None:
    """Refusals too; a policy that lets no inline script run."""
    for client in (_client(None), _client(TOKEN)):
        for answer in (client.get("/api/v1/jobs"), client.get("/", headers={"host": "evil.example"})):
            policy = answer.headers["content-security-policy"]
            assert "default-src 'self'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "SAMEORIGIN"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "same-origin"
