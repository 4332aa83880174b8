"""A storage profile while it runs, beside the command that runs it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from web.api.models.common import responses
from web.api.needs import Context
from web.errors import NotFound

router = APIRouter(tags=["profile"])


@router.get("/profile/timeline", responses=responses(404))
def profile_timeline(context: Context) -> dict[str, Any]:
    """What `edbench bench storage --serve` does now: rates by second on one axis, downsampled, with the runs so far and what
    came of each. 404 where this server stands beside no profile."""
    if context.profile is None:
        raise NotFound("this server stands beside no profile; edbench bench storage … --serve does")
    return context.profile.timeline()
