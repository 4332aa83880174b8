"""Plain data: parsed from JSON, compared with the fields that were kept, and grouped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """The values by their keys, both in the given order."""
    out: dict[K, list[V]] = {}
    for value in values:
        out.setdefault(key(value), []).append(value)
    return out


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts db2 before db10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def unambiguous(text: str) -> Any:
    """Parse JSON; raise ValueError if an object has a name twice, or for NaN and Infinity. Readers differ in which of
    two they take, so that a file could show a person one value and a program another."""
    return json.loads(text, object_pairs_hook=_named_once, parse_constant=_refused)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _named_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in out if names.count(name) > 1)
        raise ValueError(f"an object contains {twice!r} twice")
    return out


def surplus(given: Any, kept: Any, at: str) -> str | None:
    """The name of the first given field that was not kept; None if all were."""
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
