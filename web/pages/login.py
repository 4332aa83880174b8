"""The login form; `web.sessions` processes it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from web.auth import LOGIN
from web.pages.render import page

router = APIRouter()


@router.get(LOGIN)
def login(request: Request, next: Annotated[str, Query(max_length=4_000)] = "/", failed: bool = False) -> Response:
    """The form."""
    return page(request, "login.html", next=next, failed=failed, signed_in=False)
