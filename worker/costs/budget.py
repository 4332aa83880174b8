"""Limits on what may come out of one loose file (design §3): stops bombs and self-containing archives.

Bytes, items and hand-ons are charged in the order of the children, so a re-run stops at the same place. No counter is
shared between tasks: what a task has left is divided, by size, among all that it leaves to others, so that all tasks
together never take more than one alone might. Seconds are a safety net of another kind, see worker.costs.charges.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.records import Limits
from readers.errors import DocumentError, ExceptionCode
from worker.costs.charges import Stop
from worker.costs.processor_time import processor_seconds

_WHILE_AT_IT = 10  # times its size is what an item may give that is handed on before the end of a task
_NOBODY = uuid.UUID(int=0)
_DROPS = 10  # members dropped before everything else under this loose file is refused too


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may come out of a loose file, or of a part of it that another task takes."""

    extracted: int  # bytes
    children: int
    hand_ons: int

    @classmethod
    def of(cls, limits: Limits, loose_bytes: int) -> Allowance:
        """Of a whole loose file."""
        ratio_limit = max(limits.expansion_floor, int(limits.expansion_ratio * loose_bytes))
        return cls(min(limits.extracted_bytes, ratio_limit), limits.children, limits.hand_ons)

    def shared(self, weights: Sequence[int], total: int | None = None) -> list[Allowance]:
        """Shares by weight, which together are no more than this; `total`: of weights, those to come included."""
        total = max(1, sum(weights), total or 0)
        return [
            Allowance(self.extracted * w // total, self.children * w // total, self.hand_ons * w // total)
            for w in weights
        ]


class Budget:
    """Bytes, items and seconds that one task takes out of one loose file, or of a part of it."""

    def __init__(
        self,
        limits: Limits,
        loose_bytes: int,
        *,
        loose: uuid.UUID = _NOBODY,
        allowance: Allowance | None = None,  # None: this task has all of the loose file
        seconds: float | None = None,  # None: nobody has spent any yet
        room: int | None = None,  # items that fit into memory, where they once did not
        stop: Stop | None = None,  # the loose file's
        clock: Callable[[], float] = processor_seconds,
    ) -> None:
        self._allowance = allowance or Allowance.of(limits, loose_bytes)
        self.allowed = self._allowance.extracted
        self.loose = loose
        self.loose_bytes = loose_bytes
        self.spent = 0
        self.children = 0
        self._hand_ons = 0
        self._given = Allowance(0, 0, 0)
        self._drops = 0
        self._seconds = limits.seconds_of(loose_bytes) if seconds is None else seconds
        self._room = room
        self._stop = stop
        self._clock = clock
        self._begun = clock()
        self._ended: float | None = None

    @property
    def seconds(self) -> float:
        """Processor time of this slot and its box from when the budget was made until it was ended."""
        return (self._clock() if self._ended is None else self._ended) - self._begun

    def end(self) -> None:
        """The task goes on with another loose file, or part."""
        self._ended = self._clock()

    def check(self) -> None:
        """Before another child is asked for: raises DocumentError when the loose file costs too much."""
        if self._stop is not None:
            self._stop.check()
        if (seconds := self.seconds) > self._seconds:
            raise DocumentError(
                ExceptionCode.TIME_LIMIT,
                f"{seconds:.0f} seconds were spent; {max(0.0, self._seconds):.0f} were left for this loose file",
            )
        if self._room is not None and self.children >= self._room:
            raise DocumentError(
                ExceptionCode.MEMORY, f"its items filled the memory of a slot; only the first {self._room} have rows"
            )

    def foresee(self, announced: int) -> None:
        """Refuse a child whose announced size alone would break the limit, before a byte of it is written."""
        if self._drops >= _DROPS:
            raise DocumentError(
                ExceptionCode.EXPANSION_LIMIT,
                f"{_DROPS} items in this loose file were over the limit of {self.allowed}",
            )
        if self.spent + announced > self.allowed:
            self._drops += 1
            raise self._over(announced)

    def charge(self, amount: int) -> None:
        """Take bytes of a child on account; raises DocumentError(expansion_limit), and then they are not on it."""
        if self.spent + amount > self.allowed:
            self._drops += 1
            raise self._over(amount)
        self.spent += amount

    def count_child(self) -> None:
        """One more child; raises DocumentError(children_limit)."""
        allowed = self._allowance.children - self._given.children
        if self.children >= allowed:
            raise DocumentError(ExceptionCode.CHILDREN_LIMIT, f"more than {allowed} items in one loose file")
        self.children += 1

    def give_back(self, amount: int) -> None:
        """The child being taken was dropped: its bytes count no more."""
        self.spent -= amount

    def hand_on(self, count: int = 1) -> bool:
        """Whether so many more items or ranges may be left to other tasks; if not, this task opens them itself."""
        if self._hand_ons + count > self._allowance.hand_ons - self._given.hand_ons:
            return False
        self._hand_ons += count
        return True

    @property
    def shared(self) -> bool:
        """Whether other tasks got something of it."""
        return self._hand_ons > 0

    def hand_over(self, weights: Sequence[int], *, more: bool = False) -> list[Allowance]:
        """Shares, by size, of what is left for as many items or ranges that other tasks take; they are taken off here.

        All of what is left, or, where the task has `more` to find, so much as they are likely to need, and half at most.
        """
        left = Allowance(
            max(0, self.allowed - self.spent),
            max(0, self._allowance.children - self.children - self._given.children),
            max(0, self._allowance.hand_ons - self._hand_ons - self._given.hand_ons),
        )
        total = max(2 * sum(weights), left.extracted // _WHILE_AT_IT) if more else None
        shares = left.shared(weights, total)
        self.allowed -= sum(share.extracted for share in shares)
        self._given = Allowance(
            0,
            self._given.children + sum(share.children for share in shares),
            self._given.hand_ons + sum(share.hand_ons for share in shares),
        )
        return shares

    def _over(self, amount: int) -> DocumentError:
        return DocumentError(
            ExceptionCode.EXPANSION_LIMIT,
            f"{self.spent + amount} bytes would have come out of {self.loose_bytes}; the limit is {self.allowed}",
        )
