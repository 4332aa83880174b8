"""The page of a storage profile while it runs."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from web.api import profile as api
from web.api.needs import Context
from web.pages.render import page

router = APIRouter()


@router.get("/profile")
def profile(request: Request, context: Context) -> Response:
    """What it does now."""
    return page(request, "profile.html", seen=api.profile_timeline(context))
