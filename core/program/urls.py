"""URLs as they may be shown to people: without the login in them."""

from __future__ import annotations

import re

_HIDDEN = "…"
# A login ends at the last @ of what has no space in it: a password that was not encoded may hold anything else. Without a password
# it ends before the path, where an @ is only a character.
_LOGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^\s:/?#@]*:\S*|[^\s/?#]*)@")
_PARAMETER = re.compile(r"([?&](?:password|sslpassword|secret|token)=)[^&\s'\"]+", re.IGNORECASE)


def shown_url(url: str) -> str:
    """A URL, valid or not, with all that precedes its last @ hidden, except the scheme."""
    login, at, place = url.rpartition("@")
    if not at:
        return without_logins(url)
    scheme, stands, _ = login.partition("://")
    return without_logins(f"{scheme}://{_HIDDEN}@{place}" if stands else f"{_HIDDEN}@{place}")


def without_logins(text: str) -> str:
    """A message, with the logins of all URLs in it hidden, and passwords that are parameters of one."""
    return _PARAMETER.sub(rf"\1{_HIDDEN}", _LOGIN.sub(rf"\1{_HIDDEN}@", text))
