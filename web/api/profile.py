"""A storage test while its command runs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from web.api.models.common import responses
from web.api.needs import Context
from web.errors import NotFound

router = APIRouter(tags=["profile"])


@router.get("/profile/timeline", responses=responses(404))
def profile_timeline(context: Context) -> dict[str, Any]:
    """The storage test of `edbench bench storage --serve`: rates by second on one axis, downsampled, with the runs so far and
    their outcomes. 404 on other servers."""
    if context.profile is None:
        raise NotFound("this server runs no storage test; `edbench bench storage NAME --serve` starts one")
    return context.profile.timeline()
