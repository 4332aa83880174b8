"""The login form; `web.app` processes it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from web.auth import LOGIN
from web.pages.render import page
from web.published import COMMAND, WEB

router = APIRouter()


@router.get(LOGIN)
def login(
    request: Request,
    next: Annotated[str, Query(max_length=4_000)] = "/",
    failed: Literal["", "token", "code"] = "",
) -> Response:
    """The form. It redeems no code: a browser that fetches links in advance spends nothing."""
    container = request.app.state.context.env.get(WEB, "") != ""
    return page(request, "login.html", next=next, failed=failed, command=COMMAND if container else "", signed_in=False)
