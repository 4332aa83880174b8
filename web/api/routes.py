"""All routes of the API together."""

from __future__ import annotations

from fastapi import APIRouter

from web.api import actions, create, exceptions, items, jobs, named, produce, profile, results, review, system, timeline

PREFIX = "/api/v1"
PARTS = (system, jobs, create, produce, actions, timeline, items, named, exceptions, review, results, profile)


def api_router() -> APIRouter:
    """Version 1 of the API."""
    router = APIRouter(prefix=PREFIX)
    for part in PARTS:
        router.include_router(part.router)
    return router
