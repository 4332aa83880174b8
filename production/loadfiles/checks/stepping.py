"""Load files read in step by their numbers: what one lacks, or has beside, is told, and everything else is still compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from production.loadfiles.checks.numbers import before

T = TypeVar("T")


class Stepping(Generic[T]):
    """Records of one load file, which rise by their numbers, asked for by those of another. Two of them are held."""

    def __init__(self, name: str, other: str, records: Iterator[tuple[str, T]], fault: Callable[[str], None]) -> None:
        self.name, self._other, self._fault = name, other, fault
        self._records = records
        self._ahead: deque[tuple[str, T]] = deque()

    def at(self, number: str, following: str | None, *, wanted: bool = True) -> T | None:
        """The record of this number. Where there is none that is a fault, unless it is not `wanted`. `following` is asked for
        next: a number that does not rise to it is none to go by, and nothing is passed over for it."""
        astray = following is not None and not before(number, following)
        while (first := self._peek(0)) is not None and first[0] != number and not astray:
            second = self._peek(1)
            if not before(first[0], number) and (second is None or before(first[0], second[0])):
                break
            self._beside()
        if first is not None and first[0] == number:
            self._ahead.popleft()
            return first[1]
        if wanted:
            self._fault(f"{number}: {self.name} lacks it")
        return None

    def rest(self) -> None:
        """The other load file is at its end."""
        while self._peek(0) is not None:
            self._beside()

    def _beside(self) -> None:
        number, _ = self._ahead.popleft()
        self._fault(f"{number}: {self.name} has it, {self._other} does not")

    def _peek(self, place: int) -> tuple[str, T] | None:
        while len(self._ahead) <= place:
            if (coming := next(self._records, None)) is None:
                return None
            self._ahead.append(coming)
        return self._ahead[place]
