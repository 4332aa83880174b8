"""Logging in with the form and out again; the form itself is a page."""

from __future__ import annotations

import time
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse

from web.auth import COOKIE, LOGIN, SESSION_SECONDS, Door
from web.errors import FieldErrors

_LONGEST_FORM = 10_000

router = APIRouter(include_in_schema=False)


@router.post(LOGIN)
async def login(request: Request) -> RedirectResponse:
    """Fields `token` and `next`; sets the session's cookie, or shows the form again with `failed=1`."""
    form = parse_qs((await _body(request)).decode("utf-8", "replace"))
    token, wanted = form.get("token", [""])[0], form.get("next", ["/"])[0]
    door = request.app.state.door
    if isinstance(door, Door) and not door.knows(token.strip()):
        return RedirectResponse(f"{LOGIN}?failed=1", 303)
    out = RedirectResponse(inner(wanted), 303)
    if isinstance(door, Door):
        out.set_cookie(
            COOKIE,
            door.session(time.time()),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return out


async def _body(request: Request) -> bytes:
    out = b""
    async for chunk in request.stream():
        out += chunk
        if len(out) > _LONGEST_FORM:
            raise FieldErrors({"token": "this form is too long"})
    return out


@router.get("/logout")
@router.post("/logout")
def logout() -> RedirectResponse:
    """Forget the session in this browser."""
    out = RedirectResponse(LOGIN, 303)
    out.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return out


def inner(path: str) -> str:
    """A path on this server; `/` for anything that would lead elsewhere."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if plain else "/"
