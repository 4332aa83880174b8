"""The web application: API, pages and static files behind one guard."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp

from controller.jobs.overview import Overview
from core.extensions import installed_version
from web import docs, errors, pages
from web.api.routes import api_router
from web.auth import LOGIN, Guard, SafeHeaders, caller, cookie_name, door_of, throttled
from web.context import WebContext
from web.door import SESSION_SECONDS, Throttled
from web.errors import FieldErrors
from web.silence import Silence
from web.stream import Streams

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
        """Called once, at the first request."""
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
    app.state.overview = Overview(context.settings)
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
