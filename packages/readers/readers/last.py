"""What was made of what was asked about last, kept for the next question, in bounded memory: a handler is asked for an
item's hashes, children and text in turn, about the same bytes, and parses them once; and items have much in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V", bytes, str)
_SHORT = 300  # bytes or characters of a value that is worth remembering; what is remembered is bounded with it
LARGEST = 4 << 20  # bytes that are held on to; more are read again, so that a slot has its memory for its work


class Last(Generic[P, T]):
    """Remember the result of `make(data, …)` until the next call. The function is pure, and no caller alters its
    result. What it raises is not remembered."""

    def __init__(self, make: Callable[Concatenate[bytes, P], T]) -> None:
        self._make = make
        self._last: tuple[bytes, tuple[object, ...], T] | None = None

    def __call__(self, data: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        """By identity, not by value: what is held cannot become something else."""
        previous = self._last
        if (
            previous is not None
            and previous[0] is data
            and len(previous[1]) == len(args)
            and all(map(is_, previous[1], args))
        ):
            return previous[2]
        self._last = None  # its memory is free before more is taken
        made = self._make(data, *args, **kwargs)
        if len(data) <= LARGEST and not kwargs:
            self._last = (data, args, made)
        return made


def remembered(function: Callable[Concatenate[V, P], T]) -> Callable[Concatenate[V, P], T]:
    """Keep the results of a pure function for the last 256 short values: messages have many fields in common, and each
    is asked about its own twice. No caller alters a result."""
    known = cast(Callable[Concatenate[V, P], T], functools.lru_cache(maxsize=256)(function))

    def ask(value: V, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return known(value, *args, **kwargs) if len(value) <= _SHORT else function(value, *args, **kwargs)

    return ask
