"""What was made of the bytes that were asked about last: a handler is asked for an item's hashes, children and text in
turn, about the same bytes, and parses them once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
LARGEST = 1 << 20  # bytes that are held on to; reading more again costs little beside what is done with them


class Last(Generic[P, T]):
    """`make(data, …)`, remembered until the next; it is pure, and nobody alters what it gives. What it raises is not
    remembered."""

    def __init__(self, make: Callable[Concatenate[bytes, P], T]) -> None:
        self._make = make
        self._last: tuple[tuple[object, ...], T] | None = None

    def __call__(self, data: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        """By identity, not by value: what is held cannot become something else."""
        given = (data, *args)
        last = self._last
        if last is not None and len(last[0]) == len(given) and all(a is b for a, b in zip(last[0], given, strict=True)):
            return last[1]
        self._last = None  # its memory is free before more is taken
        made = self._make(data, *args, **kwargs)
        if len(data) <= LARGEST and not kwargs:
            self._last = (given, made)
        return made
