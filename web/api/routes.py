"""All routes of the API together."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Depends, Request
from fastapi.dependencies.models import Dependant

from core.extensions import extension_modules
from web.api import (
    actions,
    custody,
    exceptions,
    items,
    jobs,
    looking,
    measure,
    named,
    results,
    system,
    timeline,
)
from web.errors import FieldErrors

PREFIX = "/api/v1"
_SHOWN = 20
PARTS = (
    system,
    jobs,
    actions,
    timeline,
    items,
    named,
    exceptions,
    looking,
    custody,
    measure,
    results,
)


def api_router() -> APIRouter:
    """Version 1 of the API."""
    router = APIRouter(prefix=PREFIX, dependencies=[Depends(refuse_unknown_parameters)])
    for part in PARTS:
        router.include_router(part.router)
    router.include_router(measure.starts())
    for added in extension_modules("edbench.web"):
        router.include_router(added.api)
    return router


def refuse_unknown_parameters(request: Request) -> None:
    """Raise FieldErrors for unknown query parameters, because a misspelt filter would have no effect."""
    known = set(_parameters(request.scope["route"].dependant))
    if unknown := sorted(set(request.query_params) - known):
        there = f"; known are {', '.join(sorted(known))}" if known else ""
        raise FieldErrors({name[:60]: f"unknown parameter{there}" for name in unknown[:_SHOWN]})


def _parameters(of: Dependant) -> Iterator[str]:
    yield from (field.alias for field in of.query_params)
    for each in of.dependencies:
        yield from _parameters(each)
