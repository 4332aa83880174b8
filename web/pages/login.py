"""The form that asks for the token; `web.sessions` answers it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from web.api.needs import Context
from web.auth import LOGIN
from web.pages.render import page

router = APIRouter()


@router.get(LOGIN)
def login(
    request: Request, context: Context, next: Annotated[str, Query(max_length=4_000)] = "/", failed: bool = False
) -> Response:
    """The form; where no token is needed there is nothing to ask."""
    if context.token is None:
        return RedirectResponse("/", 303)
    return page(request, "login.html", next=next, failed=failed, signed_in=False)
