"""Results kept for the next call, in bounded memory: a handler is called for an item's hashes, children and text in
turn, with the same bytes, and parses them once; and items have many values in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_
from typing import Concatenate, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V", bytes, str)
SHORT = 300  # bytes or characters of a value whose result is kept; this bounds the memory too
LARGEST = 4 << 20  # bytes that are kept; larger data is parsed again, so that a slot keeps its memory for its work


class Last(Generic[P, T]):
    """Cache of the last result of `make(data, …)`. The function is pure, and no caller alters its result. Errors are
    not kept."""

    def __init__(self, make: Callable[Concatenate[bytes, P], T]) -> None:
        self._make = make
        self._last: tuple[bytes, tuple[object, ...], T] | None = None

    def __call__(self, data: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result, kept if `data` is the same object: equal bytes at another address are not compared."""
        previous = self._last
        if (
            previous is not None
            and previous[0] is data
            and len(previous[1]) == len(args)
            and all(map(is_, previous[1], args))
        ):
            return previous[2]
        self._last = None  # free its memory before more is allocated
        made = self._make(data, *args, **kwargs)
        if len(data) <= LARGEST and not kwargs:
            self._last = (data, args, made)
        return made


def remembered(function: Callable[[V], T]) -> Callable[[V], T]:
    """Keep the results of a pure function for the last 256 short values: messages have many fields in common, and each
    field is read twice. No caller alters a result."""
    known = functools.lru_cache(maxsize=256)(function)

    def ask(value: V, /) -> T:
        return known(value) if len(value) <= SHORT else function(value)

    return ask
