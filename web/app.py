"""The web application: API, pages and static files behind one guard."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controller.jobs.overview import Overview
from core.errors import DatabaseFault
from core.extensions import installed_version
from web import docs, errors, pages
from web.api.routes import api_router
from web.auth import LOGIN, Guard, SafeHeaders, caller, cookie_name, door_of, throttled
from web.context import DatabaseHealth, WebContext
from web.errors import FieldErrors, answer, line_of, status_of
from web.stream import Streams
from web.token import SESSION_SECONDS, Throttled

_LONGEST_FORM = 10_000

router = APIRouter(include_in_schema=False)


@router.post(LOGIN)
async def login(request: Request) -> Response:
    """Fields `token` or `code`, and `next`; sets the session's cookie, or shows the form again with `failed`."""
    form = parse_qs((await _body(request)).decode("utf-8", "replace"))
    token, code, wanted = (form.get(name, [""])[0] for name in ("token", "code", "next"))
    door = door_of(request)
    try:
        right = door.redeem(code, caller(request)) if code else door.knows(token.strip(), caller(request))
        if not right:
            return RedirectResponse(f"{LOGIN}?failed={'code' if code else 'token'}", 303)
    except Throttled as error:
        return throttled(request, error)
    out = RedirectResponse(inner(wanted), 303)
    out.set_cookie(
        cookie_name(request),
        door.begin(),
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
    return out


async def _body(request: Request) -> bytes:
    out = b""
    async for chunk in request.stream():
        out += chunk
        if len(out) > _LONGEST_FORM:
            raise FieldErrors({"token": "this form is too long"})
    return out


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the session, here and wherever else its cookie may be."""
    name = cookie_name(request)
    door_of(request).end(request.cookies.get(name, ""))
    out = RedirectResponse(LOGIN, 303)
    out.delete_cookie(name, httponly=True, samesite="strict")
    return out


def inner(path: str) -> str:
    """A path on this server; `/` for anything that would lead elsewhere."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if plain else "/"


STATIC = Path(__file__).parent / "static"
_DESCRIPTION = (
    "Jobs, items, exceptions and results of an edbench installation. Bytes are whole, times seconds,"
    ' 1 GB is 10⁹ bytes; GB/hour names raw or discovered. Errors are one line of JSON: {"error": …}.'
)


class _Application(FastAPI):
    """Adds the headers to every answer, including those for internal errors."""

    def build_middleware_stack(self) -> ASGIApp:
        """Build the stack; called once, at the first request."""
        return SafeHeaders(super().build_middleware_stack())


def create_app(context: WebContext) -> FastAPI:
    """The application for an installation. `app.state.streams.close()` ends its live streams."""
    app = _Application(
        title="edbench",
        version=installed_version(),
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation,
    )
    app.state.context = context
    app.state.door = context.door
    app.state.overview = Overview()
    app.state.streams = Streams()
    app.state.error_page = pages.error_page
    errors.install(app)
    app.include_router(api_router())
    app.include_router(docs.router)
    app.include_router(router)
    app.include_router(pages.router())
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=6)  # live events excepted
    app.add_middleware(Silence, health=context.health)
    app.add_middleware(Guard, door=app.state.door)
    return app


def _operation(route: APIRoute) -> str:
    """The name of an operation in the document: its tag and its function's name."""
    return "_".join([*map(str, route.tags[-1:]), route.name])


PATIENCE_SECONDS = 5.0  # that a request may take before the databases are asked, and that they have to answer


class Silence:
    """ASGI middleware: 503 for a request without an answer while a database does not answer either."""

    def __init__(self, app: ASGIApp, health: DatabaseHealth) -> None:
        self._app = app
        self._health = health
        self._executor = ThreadPoolExecutor(1, "database-health")  # not the event loop's, whose threads may all wait
        self._asking: asyncio.Future[dict[str, str]] | None = None
        self._abandoned: set[asyncio.Task[None]] = set()  # until the database answers; their answers are dropped

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = given_up = False

        async def passing(message: Message) -> None:
            nonlocal begun
            if not given_up:
                begun = True
                await send(message)

        task = asyncio.ensure_future(self._app(scope, receive, passing))
        try:
            while not begun and not (await asyncio.wait({task}, timeout=PATIENCE_SECONDS))[0]:
                fault = None if begun else await self._fault()
                if fault is not None and not begun:
                    given_up = True
                    self._abandon(task)
                    await answer(Request(scope), status_of(fault), line_of(fault))(scope, receive, send)
                    return
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def _fault(self) -> DatabaseFault | None:
        """The reason why a database does not answer now; None if all do."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().run_in_executor(self._executor, self._health.states)
        done, _ = await asyncio.wait({self._asking}, timeout=PATIENCE_SECONDS)
        if not done:
            return DatabaseFault(f"no answer for {PATIENCE_SECONDS:.0f} s", transient=True)
        return next(
            (DatabaseFault(state, transient=True) for state in self._asking.result().values() if state != "ok"), None
        )

    def _abandon(self, task: asyncio.Task[None]) -> None:
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # read, so not logged
