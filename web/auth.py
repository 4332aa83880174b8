"""Access control: a token or session is required, and requests of other sites are refused (docs/web.md)."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.custody import acting
from web import errors
from web.token import VARIABLE, Door, Throttled

PAGE_POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
# A report contains its style sheet and figures; it runs no script, sends no form and loads nothing.
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SafeHeaders:
    """ASGI middleware: adds the headers that an answer does not set. Data is not cached; static files are revalidated each
    time and sent only when they have changed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cached = "no-cache" if scope["path"].startswith("/static/") else "no-store"

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", PAGE_POLICY)
                headers.setdefault("Cache-Control", cached)
            await send(message)

        await self._app(scope, receive, with_headers)


LOGIN = "/login"
HEALTH = f"{errors.API}v1/health"  # monitoring asks without a token, and learns up or not
ANONYMOUS = "edbench.anonymous"  # in the scope of such a request
BEARER = "edbench.bearer"  # in the scope of a request with the token, not with a session
_OPEN = (LOGIN, "/static/")  # available without a session
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))


def cookie_name(request: Request) -> str:
    """The name of the session's cookie. It contains the port, because browsers share cookies between all ports of a
    host."""
    server = request.scope.get("server")
    return f"edbench_session_{server[1] if server else 0}"


def caller(request: Request) -> str:
    """The address that the request came from."""
    return request.client.host if request.client is not None else ""


def door_of(request: Request) -> Door:
    """The application's `Door`."""
    door: Door = request.app.state.door
    return door


class Guard:
    """ASGI middleware in front of everything."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            request = Request(scope)
            refusal = self._refusal(request)
            with acting(f"web UI at {caller(request)}"):
                await (refusal or self._app)(scope, receive, send)
        # web sockets are not answered

    def _refusal(self, request: Request) -> Response | None:
        if _netloc(f"//{request.headers.get('host', '')}") is None:  # later code relies on it
            return errors.answer(request, 400, "the Host header cannot be read")
        path = request.scope["path"]
        if path == LOGIN or path.startswith(_OPEN[1]):
            return _foreign(request)
        try:
            if self._bearer(request):
                request.scope[BEARER] = True
                return None  # other sites cannot send this header
        except Throttled as error:
            return throttled(request, error)
        if not self._door.admits(request.cookies.get(cookie_name(request), "")):
            if path == HEALTH and request.method in _SAFE:
                request.scope[ANONYMOUS] = True
                return None
            return _login(request)
        return _foreign(request)

    def _bearer(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._door.knows(token.strip(), caller(request))


def throttled(request: Request, error: Throttled) -> Response:
    """The answer to an address with too many wrong tokens."""
    out = errors.answer(request, 429, str(error))
    out.headers["Retry-After"] = str(error.seconds)
    return out


def _netloc(url: str) -> str | None:
    """Host and port of a URL; None if it has none."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 (raises for what is no number)
    except ValueError:
        return None
    return parts.netloc


def _foreign(request: Request) -> Response | None:
    """An answer that refuses a request from another site that changes something."""
    if request.method in _SAFE:
        return None
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    same = site in (None, "same-origin", "none") and (
        origin is None or _netloc(origin) == request.headers.get("host", "")
    )
    return None if same else errors.answer(request, 403, "this request comes from another site")


def _login(request: Request) -> Response:
    """The answer without a session: the login form, or one line for programs."""
    if request.scope["path"].startswith(errors.API) or request.method not in _SAFE:
        refusal = errors.answer(
            request,
            401,
            f"token missing or wrong: send `Authorization: Bearer TOKEN` with the {VARIABLE} of the server",
        )
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal
    query = request.scope["query_string"].decode("latin-1")
    asked = request.scope["path"] + (f"?{query}" if query else "")
    return RedirectResponse(f"{LOGIN}?next={quote(asked, safe='')}", 303)
