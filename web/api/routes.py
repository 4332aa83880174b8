"""All routes of the API together."""

from __future__ import annotations

from fastapi import APIRouter

from web.api import (
    actions,
    create,
    custody,
    exceptions,
    items,
    jobs,
    looking,
    measure,
    named,
    produce,
    profile,
    results,
    review,
    system,
    timeline,
    viewing,
)

PREFIX = "/api/v1"
PARTS = (
    system,
    jobs,
    create,
    produce,
    actions,
    timeline,
    items,
    viewing,
    named,
    exceptions,
    review,
    looking,
    custody,
    measure,
    results,
    profile,
)


def api_router() -> APIRouter:
    """Version 1 of the API."""
    router = APIRouter(prefix=PREFIX)
    for part in PARTS:
        router.include_router(part.router)
    return router
