"""The pages: HTML made on the server from what the API answers; only charts and the list of jobs move by script."""

from __future__ import annotations

from fastapi import APIRouter

from web.pages import items, jobs, login, measure, productions, profile, results, review, search, viewer
from web.pages.render import error_page

__all__ = ["error_page", "router"]


def router() -> APIRouter:
    """All pages; they are no part of the API's document."""
    out = APIRouter(include_in_schema=False)
    for part in (jobs, items, search, viewer, review, productions, results, measure, profile, login):
        out.include_router(part.router)
    return out
