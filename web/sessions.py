"""Logging in with the form and out again; the form itself is a page."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from web.auth import LOGIN, caller, cookie_name, door_of, throttled
from web.door import SESSION_SECONDS, Throttled
from web.errors import FieldErrors

_LONGEST_FORM = 10_000

router = APIRouter(include_in_schema=False)


@router.post(LOGIN)
async def login(request: Request) -> Response:
    """Fields `token` or `code`, and `next`; sets the session's cookie, or shows the form again with `failed`."""
    form = parse_qs((await _body(request)).decode("utf-8", "replace"))
    token, code, wanted = (form.get(name, [""])[0] for name in ("token", "code", "next"))
    door = door_of(request)
    try:
        right = door.redeem(code, caller(request)) if code else door.knows(token.strip(), caller(request))
        if not right:
            return RedirectResponse(f"{LOGIN}?failed={'code' if code else 'token'}", 303)
    except Throttled as error:
        return throttled(request, error)
    out = RedirectResponse(inner(wanted), 303)
    out.set_cookie(
        cookie_name(request),
        door.begin(),
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
    return out


async def _body(request: Request) -> bytes:
    out = b""
    async for chunk in request.stream():
        out += chunk
        if len(out) > _LONGEST_FORM:
            raise FieldErrors({"token": "this form is too long"})
    return out


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the session, here and wherever else its cookie may be."""
    name = cookie_name(request)
    door_of(request).end(request.cookies.get(name, ""))
    out = RedirectResponse(LOGIN, 303)
    out.delete_cookie(name, httponly=True, samesite="strict")
    return out


def inner(path: str) -> str:
    """A path on this server; `/` for anything that would lead elsewhere."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if plain else "/"
