"""The pages: HTML rendered on the server from the answers of the API; scripts draw the charts and update the job list."""

from __future__ import annotations

from fastapi import APIRouter

from core.extensions import extension_modules
from web.pages import form, items, jobs, review, viewer
from web.pages.render import error_page

__all__ = ["error_page", "router"]


def router() -> APIRouter:
    """All pages; the OpenAPI document does not contain them."""
    out = APIRouter(include_in_schema=False)
    for part in (jobs, items, viewer, review, form):
        out.include_router(part.router)
    for added in extension_modules("edbench.web"):
        out.include_router(added.pages)
    return out
