"""Who may come in: nobody from another site, nobody without the token where there is one (design: docs/web.md)."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from core.errors import UsageError
from web import errors

VARIABLE = "EDBENCH_TOKEN"
COOKIE = "edbench_session"
SESSION_SECONDS = 12 * 3600
LEAST_CHARACTERS = 16
LOGIN = "/login"
_OPEN = (LOGIN, "/static/")  # what a person without a session may see
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_LOCAL_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    if host in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name: who knows
        return False


def read_token(env: Mapping[str, str], host: str) -> str | None:
    """The token of EDBENCH_TOKEN; raises UsageError where one is needed and there is none, or it is too short."""
    token = env.get(VARIABLE, "").strip()
    if not token:
        if not is_loopback(host):
            raise UsageError(f"--host {host} can be reached from other machines; set {VARIABLE} to a long random text")
        return None
    if len(token) < LEAST_CHARACTERS:
        raise UsageError(f"{VARIABLE} is too short; give at least {LEAST_CHARACTERS} random characters")
    return token


class Door:
    """Checks tokens and the sessions that stand for them. A session's value tells when it ends and nothing of the
    token; it is good on every server with this token until then."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._key = hmac.digest(self._token, b"edbench session", hashlib.sha256)

    def knows(self, token: str) -> bool:
        """Whether it is the token; takes the same time whatever is wrong with it."""
        return hmac.compare_digest(hashlib.sha256(token.encode("utf-8", "replace")).digest(), self._digest())

    def _digest(self) -> bytes:
        return hashlib.sha256(self._token).digest()

    def session(self, now: float) -> str:
        """The value of a session that begins at wall-clock second `now`."""
        ends = str(int(now) + SESSION_SECONDS)
        return f"{ends}.{self._signature(ends)}"

    def _signature(self, ends: str) -> str:
        return hmac.new(self._key, ends.encode(), hashlib.sha256).hexdigest()

    def admits(self, session: str, now: float) -> bool:
        """Whether it is a session of this token that has not ended."""
        ends, _, signature = session.partition(".")
        if not ends.isascii() or not ends.isdigit() or len(ends) > 12 or not signature.isascii():
            return False
        return hmac.compare_digest(signature, self._signature(ends)) and now < int(ends)


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(self, app: ASGIApp, door: Door | None) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(Request(scope))
            await (refusal or self._app)(scope, receive, send)
        # there are no web sockets here: anything else is not answered

    def _refusal(self, request: Request) -> Response | None:
        if self._door is None:
            if not _addressed_locally(request):
                return errors.answer(
                    request,
                    403,
                    f"address this server as localhost, or start it with {VARIABLE} to give it other names",
                )
            return _foreign(request)
        if request.url.path == LOGIN or request.url.path.startswith(_OPEN[1]):
            return _foreign(request)
        if self._bearer(request):
            return None  # no other site's page can send that
        if not self._door.admits(request.cookies.get(COOKIE, ""), time.time()):
            return _login(request)
        return _foreign(request)

    def _bearer(self, request: HTTPConnection) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self._door is not None and scheme.lower() == "bearer" and self._door.knows(token.strip())


def _addressed_locally(request: HTTPConnection) -> bool:
    """Whether Host is a name of loopback: a page of another name that resolves to it gets nothing."""
    try:
        name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name)


def _foreign(request: Request) -> Response | None:
    """A refusal for a request that changes something and was made by a page of another site."""
    if request.method in _SAFE:
        return None
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    same = site in (None, "same-origin", "none") and (
        origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    )
    return None if same else errors.answer(request, 403, "this request comes from another site")


def _login(request: Request) -> Response:
    """What a person without a session gets: the form, or for programs one line."""
    if request.url.path.startswith(errors.API) or request.method not in _SAFE:
        refusal = errors.answer(
            request, 401, f"a token is needed: Authorization: Bearer, with {VARIABLE} of the server"
        )
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"{LOGIN}?next={quote(asked, safe='')}", 303)
