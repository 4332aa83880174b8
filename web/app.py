"""The web application: API, pages and static files behind one guard."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp

from controller.jobs.overview import Overview
from controller.versions import own_version
from web import docs, errors, pages, sessions
from web.api.routes import api_router
from web.auth import Guard
from web.context import WebContext
from web.headers import SafeHeaders
from web.silence import Silence
from web.stream import Streams

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
        version=own_version(),
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
    app.include_router(sessions.router)
    app.include_router(pages.router())
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=6)  # live events excepted
    app.add_middleware(Silence, health=context.health)
    app.add_middleware(Guard, door=app.state.door)
    return app


def _operation(route: APIRoute) -> str:
    """The name of an operation in the document: its tag and its function's name."""
    return "_".join([*map(str, route.tags[-1:]), route.name])
