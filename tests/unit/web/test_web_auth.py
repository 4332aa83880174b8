"""Who may come in: tokens, sessions, guesses, malformed headers, and pages of other sites."""

import os
import stat
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from core.errors import UsageError
from web.app import inner
from web.app import router as sessions
from web.auth import Guard, SafeHeaders
from web.installed import shown_address
from web.token import (
    CODE_SECONDS,
    FILE,
    LEAST_CHARACTERS,
    MOST_ADDRESSES,
    MOST_CODES,
    MOST_SESSIONS,
    SECONDS_A_TRY,
    SESSION_SECONDS,
    WRONG_AT_ONCE,
    Door,
    Throttled,
    given_token,
    kept_token,
)

TOKEN = "0123456789abcdef0123456789abcdef"
BEARER = {"authorization": f"Bearer {TOKEN}"}
LOCAL = "http://127.0.0.1:8080"
HERE = "127.0.0.1"


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def _here(request: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


def _client(base: str = LOCAL, door: Door | None = None, address: str = HERE) -> TestClient:
    """A server of one route everywhere, with the form's routes."""
    door = door or Door(TOKEN)
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(sessions)
    app.add_route("/{path:path}", _here, methods=["GET", "POST", "DELETE"])
    app.state.door = door
    app.add_middleware(Guard, door=door)
    app.add_middleware(SafeHeaders)
    return TestClient(app, base_url=base, follow_redirects=False, client=(address, 50_000))


def _signed_in(door: Door | None = None) -> TestClient:
    client = _client(door=door)
    assert "<nav" not in client.get("/login").text  # its links lead nowhere before that
    assert client.post("/login", data={"token": TOKEN}).status_code == 303
    return client


@given(st.text(max_size=80))
def test_no_other_text_is_the_token_or_a_session(text: str) -> None:
    door = Door(TOKEN)
    assert door.knows(text, HERE) is (text == TOKEN)
    assert not door.admits(text)


def test_a_session_is_random_and_ends() -> None:
    time = Time()
    door = Door(TOKEN, time)
    session = door.begin()
    assert session != door.begin()
    assert door.admits(session)
    assert not Door(TOKEN).admits(session)
    time.now += SESSION_SECONDS
    assert not door.admits(session)


def test_there_are_only_so_many_sessions() -> None:
    door = Door(TOKEN)
    made = [door.begin() for _ in range(MOST_SESSIONS + 1)]
    assert [door.admits(session) for session in made] == [False, *[True] * MOST_SESSIONS]


def test_a_sign_in_code_is_valid_once_for_fifteen_minutes_in_one_process() -> None:
    time = Time()
    door = Door(TOKEN, time)
    code = door.new_code()
    assert not door.admits(code)
    assert not door.knows(code, HERE)
    assert not Door(TOKEN, time).redeem(code, HERE)
    assert door.redeem(code, HERE)
    assert not door.redeem(code, HERE)
    late = door.new_code()
    time.now += CODE_SECONDS
    assert not door.redeem(late, HERE)
    for wrong in ("", TOKEN, door.begin()):
        assert not door.redeem(wrong, "10.0.0.9")
    codes = [door.new_code() for _ in range(MOST_CODES + 1)]
    assert [door.redeem(each, f"10.1.0.{number}") for number, each in enumerate(codes)] == [False, *[True] * MOST_CODES]


def test_a_link_is_spent_by_the_form_alone() -> None:
    """Not by a fetch of its address, with or without the code in the query, by HEAD, or by a POST of another site; a guess of codes is
    throttled, and a used link leads back to the form."""
    door = Door(TOKEN)
    code = door.new_code()
    client = _client(door=door)
    for method in ("GET", "HEAD"):
        assert "set-cookie" not in client.request(method, "/login", params={"code": code}).headers
    foreign = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
    assert client.post("/login", data={"code": code}, headers=foreign).status_code == 403
    assert client.post("/login", params={"code": code}).headers["location"] == "/login?failed=token"
    signed_in = client.post("/login", data={"code": code, "next": "//elsewhere.example"})
    assert (signed_in.headers["location"], "set-cookie" in signed_in.headers) == ("/", True)
    assert client.get("/jobs/last").status_code == 200
    again = _client(door=door).post("/login", data={"code": code})
    assert (again.headers["location"], "set-cookie" in again.headers) == ("/login?failed=code", False)
    statuses = [
        _client(door=door, address="10.0.0.3").post("/login", data={"code": "x"}).status_code for _ in range(12)
    ]
    assert statuses[-2:] == [429, 429]


def test_guesses_are_throttled_by_address() -> None:
    """After some wrong ones not even the right one is taken, from there; time gives one more try at a time."""
    time = Time()
    door = Door(TOKEN, time)
    for _ in range(WRONG_AT_ONCE):
        assert not door.knows("wrong", "10.0.0.1")
    with pytest.raises(Throttled):
        door.knows(TOKEN, "10.0.0.1")
    assert door.knows(TOKEN, "10.0.0.2")
    time.now += SECONDS_A_TRY
    assert not door.knows("wrong", "10.0.0.1")
    with pytest.raises(Throttled) as caught:
        door.knows("wrong", "10.0.0.1")
    assert 1 <= caught.value.seconds <= SECONDS_A_TRY
    time.now += SECONDS_A_TRY
    assert door.knows(TOKEN, "10.0.0.1")


def test_a_host_with_many_addresses_is_one() -> None:
    door = Door(TOKEN)
    for number in range(WRONG_AT_ONCE):
        door.knows("wrong", f"2001:db8::{number:x}")
    with pytest.raises(Throttled):
        door.knows("wrong", "2001:db8::ffff:1")
    assert not door.knows("wrong", "2001:db8:1::1")


def test_addresses_are_not_remembered_without_end() -> None:
    door = Door(TOKEN)
    for number in range(MOST_ADDRESSES + 5):
        door.knows("wrong", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(door._wrong) == MOST_ADDRESSES


@pytest.mark.parametrize("way", ["form", "bearer"])
def test_guessing_over_http_has_to_wait(way: str) -> None:
    """429 and how long, by the form and as a program; who is signed in already notices nothing."""
    door = Door(TOKEN)
    inside = _signed_in(door)
    client = _client(door=door)

    def guess() -> int:
        if way == "form":
            return client.post("/login", data={"token": "wrong"}).status_code
        return client.get("/api/v1/jobs", headers={"authorization": "Bearer wrong"}).status_code

    statuses = [guess() for _ in range(WRONG_AT_ONCE + 2)]
    assert statuses[-2:] == [429, 429]
    assert 429 not in statuses[:WRONG_AT_ONCE]
    refused = client.get("/api/v1/jobs", headers=BEARER)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert inside.get("/jobs/last").status_code == 200
    assert _client(door=door, address="10.0.0.9").get("/", headers=BEARER).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://["},
        {"origin": "http://127.0.0.1:99999999"},
        {"origin": "http://]:8080"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": LOCAL},
    ],
)
def test_other_sites_change_nothing(headers: dict[str, str]) -> None:
    """Not with the cookie of a session; reading is not theirs either, for want of permission. No origin is so
    malformed that it is anything but refused."""
    client = _signed_in()
    assert client.post("/api/v1/jobs", headers=headers).status_code == 403
    assert client.delete("/api/v1/jobs/last", headers=headers).status_code == 403
    assert client.post("/logout", headers=headers).status_code == 403
    assert "access-control-allow-origin" not in client.get("/api/v1/jobs", headers=headers).headers
    assert _client().post("/login", data={"token": TOKEN}, headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["[", "[::1", "a:b", "127.0.0.1:99999999", "[zz]:80", "]"])
@pytest.mark.parametrize("path", ["/", "/login", "/api/v1/jobs", "/static/app.css"])
def test_a_host_that_cannot_be_read_is_refused(host: str, path: str) -> None:
    for method in ("GET", "POST"):
        assert _client().request(method, path, headers={"host": host} | BEARER).status_code == 400


_HEADERS = ("origin", "host", "cookie", "authorization", "sec-fetch-site", "referer", "content-type", "x-forwarded-for")
_NASTY = st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=30) | st.sampled_from(
    ["http://[", "[", "http://[::1]:x", 'edbench_session_8080="', "Bearer " + "é" * 9, "//", "a:b:c", "http://a@b:c@d/"]
)


@given(st.dictionaries(st.sampled_from(_HEADERS), _NASTY), st.sampled_from(["GET", "POST"]), st.booleans())
def test_no_header_makes_a_traceback(headers: dict[str, str], method: str, form: bool) -> None:
    """Whatever stands in them: an answer that is not ours to be ashamed of (the client raises what the server would)."""
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = _client().request(method, "/login" if form and method == "POST" else "/x", headers=raw)  # type: ignore[arg-type]
    assert answer.status_code < 500


def test_our_own_pages_and_programs_change_things() -> None:
    client = _signed_in()
    for headers in ({}, {"origin": LOCAL, "sec-fetch-site": "same-origin"}):
        assert client.post("/api/v1/jobs", headers=headers).status_code == 200


@pytest.mark.parametrize("base", [LOCAL, "http://localhost:8080", "http://filer.example:8080"])
def test_nothing_is_shown_without_the_token(base: str) -> None:
    """On loopback as anywhere: other users of this machine are there too. Programs get 401 and one line, people the
    form; the form and what it needs are open."""
    client = _client(base)
    refused = client.get("/api/v1/jobs")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    page = client.get("/jobs/last?x=1")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2Fjobs%2Flast%3Fx%3D1")
    assert client.post("/anything").status_code == 401
    assert client.delete("/api/v1/jobs/last").status_code == 401
    for path in ("/login", "/static/app.css"):
        assert client.get(path).status_code == 200
    for header in (f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer", "Bearer é"):
        assert client.get("/api/v1/jobs", headers={"authorization": header.encode()}).status_code == 401


def test_a_bearer_token_opens_everything() -> None:
    client = _client("http://filer.example:8080")
    assert client.get("/api/v1/jobs", headers=BEARER).status_code == 200
    assert client.post("/api/v1/jobs", headers=BEARER | {"origin": "https://elsewhere.example"}).status_code == 200


def test_the_form_gives_a_session_and_leads_on() -> None:
    client = _client()
    wrong = client.post("/login", data={"token": TOKEN[:-1], "next": "/jobs"})
    assert (wrong.status_code, wrong.headers["location"], "set-cookie" in wrong.headers) == (
        303,
        "/login?failed=token",
        False,
    )
    right = client.post("/login", data={"token": TOKEN, "next": "/jobs/last"})
    cookie = right.headers["set-cookie"]
    assert right.headers["location"] == "/jobs/last"
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    assert TOKEN not in cookie
    assert client.get("/jobs/last").status_code == 200


def test_signing_out_ends_the_session_wherever_its_cookie_is() -> None:
    door = Door(TOKEN)
    client, other = _signed_in(door), _signed_in(door)
    copies = dict(client.cookies)
    assert client.get("/logout").status_code == 200  # some page, and no end of anything
    assert client.get("/jobs/last").status_code == 200
    assert client.post("/logout").headers["location"] == "/login"
    thief = _client(door=door)
    thief.cookies.update(copies)
    assert thief.get("/jobs/last").status_code == 303
    assert other.get("/jobs/last").status_code == 200


def test_servers_at_two_ports_of_a_host_keep_their_sessions_apart() -> None:
    names = [
        _client(f"http://127.0.0.1:{port}").post("/login", data={"token": TOKEN}).headers["set-cookie"].split("=")[0]
        for port in (8080, 8081)
    ]
    assert all(one != other for one, other in pairwise(names))


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nX: y", "a"])
def test_the_form_leads_nowhere_else(path: str) -> None:
    assert inner(path) == "/"


def test_every_answer_carries_the_headers() -> None:
    client = _client()
    for answer in (client.get("/api/v1/jobs"), client.get("/", headers=BEARER), client.get("/", headers={"host": "["})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "SAMEORIGIN"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/api/v1/health/", "/api/v1/health/x", "/api/v1/jobs", "/api/v1/healthy"])
def test_health_alone_needs_no_token(path: str) -> None:
    """For monitoring; nothing next to it, and nothing but reading it."""
    client = _client()
    assert client.get("/api/v1/health").text == "here"
    assert client.post("/api/v1/health").status_code == 401
    assert client.get(path).status_code == 401


def test_a_given_token_is_taken_without_the_space_around_it() -> None:
    assert given_token({"EDBENCH_TOKEN": f" {TOKEN}\n"}) == TOKEN
    assert given_token({"EDBENCH_TOKEN": " "}) is None
    assert given_token({}) is None
    with pytest.raises(UsageError, match="EDBENCH_TOKEN"):
        given_token({"EDBENCH_TOKEN": "short"})


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert given_token({"EDBENCH_TOKEN_FILE": str(file)}) == TOKEN
    assert given_token({"EDBENCH_TOKEN_FILE": str(file), "EDBENCH_TOKEN": TOKEN[::-1]}) == TOKEN[::-1]
    for text in ("", "short", "é" * 40):
        file.write_text(text)
        with pytest.raises(UsageError, match=str(file)):
            given_token({"EDBENCH_TOKEN_FILE": str(file)})
    file.unlink()
    with pytest.raises(UsageError, match="does not exist"):
        given_token({"EDBENCH_TOKEN_FILE": str(file)})


def test_one_is_made_up_and_kept_for_its_owner(tmp_path: Path) -> None:
    """0600, whatever the umask; the next server has the same, another installation another."""
    before = os.umask(0)
    try:
        token = kept_token(tmp_path / "scratch")
    finally:
        os.umask(before)
    path = tmp_path / "scratch" / FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == f"{token}\n"
    assert len(token) >= 2 * LEAST_CHARACTERS
    assert kept_token(tmp_path / "scratch") == token
    assert kept_token(tmp_path / "other") != token
    assert os.listdir(tmp_path / "scratch") == [FILE]


@pytest.mark.parametrize("unfit", ["readable", "short", "link", "fifo", "theirs"])
def test_one_that_others_could_know_is_not_used(tmp_path: Path, unfit: str) -> None:
    path = tmp_path / FILE
    if unfit == "link":
        (tmp_path / "planted").write_text(TOKEN)
        (tmp_path / "planted").chmod(0o600)
        path.symlink_to("planted")
    elif unfit == "fifo":
        os.mkfifo(path, 0o600)
    else:
        path.write_text("x" if unfit == "short" else TOKEN)
        path.chmod(0o640 if unfit == "readable" else 0o600)
    if unfit == "theirs":
        if os.geteuid():
            pytest.skip("only root can give files away")
        os.chown(path, 1234, 1234)
    made = kept_token(tmp_path)
    assert made != TOKEN
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert path.lstat().st_uid == os.geteuid()
    assert kept_token(tmp_path) == made


def test_two_at_once_agree(tmp_path: Path) -> None:
    """Whoever comes second takes the first one's."""
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(kept_token(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_a_scratch_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="set EDBENCH_TOKEN"):
        kept_token(tmp_path / "file")


def test_the_link_has_a_made_up_token_where_no_server_sees_it() -> None:
    """Behind the `#`; one that was given is not repeated on anybody's screen."""
    assert shown_address("http://127.0.0.1:8080/", None, TOKEN) == f"http://127.0.0.1:8080/login#token={TOKEN}"
    assert shown_address("http://127.0.0.1:8080/", TOKEN, TOKEN) == "http://127.0.0.1:8080/"
