"""Errors as HTTP answers: a status and one line, as JSON under /api and as a page elsewhere."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from core.errors import DatabaseFault, EdbenchError, RunFailed, SystemFault, UsageError

API = "/api/"
_REQUEST_PARTS = frozenset(("body", "query", "path", "header", "cookie"))

log = logging.getLogger("web")


class NotFound(EdbenchError):
    """The requested object does not exist (404)."""


class FieldErrors(EdbenchError):
    """Invalid fields (422), with a message for each."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


@contextmanager
def at_field(usual: str) -> Iterator[None]:
    """Report the error of an option at its field, and an error without one at the usual field."""
    try:
        yield
    except UsageError as error:
        raise FieldErrors({error.field or usual: str(error)}) from error


def one_line(text: object) -> str:
    """Text without line breaks."""
    return " ".join(str(text).split())


def line_of(error: EdbenchError) -> str:
    """The message for people. It adds what happens to jobs while a database does not answer."""
    if isinstance(error, DatabaseFault) and error.transient:
        return f"the database does not answer; your job waits and resumes when it does ({one_line(error)})"
    return one_line(error)


def status_of(error: EdbenchError) -> int:
    """404 not found, 422 invalid fields, 409 not possible in the present state, 503 a service does not work."""
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, FieldErrors):
        return 422
    if isinstance(error, UsageError | RunFailed):
        return 409
    return 503 if isinstance(error, SystemFault) else 500


def answer(request: Request, status: int, line: str, errors: Mapping[str, str] | None = None) -> Response:
    """The error as JSON for programs, as a page for people."""
    if request.scope["path"].startswith(API):
        body: dict[str, object] = {"error": one_line(line)}
        if errors is not None:
            body["errors"] = dict(errors)
        return JSONResponse(body, status)
    page = getattr(request.app.state, "error_page", None)
    if page is not None:
        out = page(request, status, one_line(line))
        if isinstance(out, Response):
            return out
    return PlainTextResponse(f"{one_line(line)}\n", status)


def install(app: FastAPI) -> None:
    """Register the handlers of all errors."""

    @app.exception_handler(EdbenchError)
    async def ours(request: Request, error: EdbenchError) -> Response:
        fields = error.errors if isinstance(error, FieldErrors) else None
        return answer(request, status_of(error), line_of(error), fields)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        nowhere = error.status_code == 404 and error.detail == "Not Found"
        line = f"there is nothing at {request.url.path}" if nowhere else str(error.detail)
        out = answer(request, error.status_code, line)
        out.headers.update(error.headers or {})
        return out

    @app.exception_handler(PermissionError)
    async def closed(request: Request, error: PermissionError) -> Response:
        line = f"{error.filename}: {error.strerror}; give access to the user that this server runs as, {os.geteuid()}"
        return answer(request, 409, line)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        fields = field_messages(error)
        line = "; ".join(f"{name}: {message}" for name, message in fields.items())
        return answer(request, 422, line, fields)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> Response:
        log.exception("%s %s", request.method, request.scope["path"], exc_info=error)
        return answer(request, 500, f"internal error: {type(error).__name__}; see the server's log")


def field_messages(error: RequestValidationError) -> dict[str, str]:
    """A message for each invalid field; `body` where it concerns no single field."""
    out: dict[str, str] = {}
    for each in error.errors():
        names = [str(part) for part in each["loc"] if part not in _REQUEST_PARTS]
        if each["loc"][0] == "query":
            names = names[:1]  # parameters have no fields; what follows are the alternatives of a type
        out.setdefault(".".join(names) or "body", one_line(each["msg"]))
    return out
