"""Plain data beside what was made of it."""

from __future__ import annotations

from typing import Any


def surplus(given: Any, kept: Any, at: str) -> str | None:
    """Where the first field stands that was not taken."""
    if isinstance(given, dict):
        lost = [key for key in given if key not in kept]
        if lost:
            return f"{at}.{lost[0]}"
        pairs = [(f"{at}.{key}", value, kept[key]) for key, value in given.items()]
    elif isinstance(given, list | tuple):
        pairs = [(f"{at}[{n}]", *pair) for n, pair in enumerate(zip(given, kept, strict=True))]
    else:
        return None
    return next((field for where, one, other in pairs if (field := surplus(one, other, where))), None)
