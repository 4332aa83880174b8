"""Limits on what may come out of one loose file (design §3): stops bombs and self-containing archives.

Charged in the order of the children, so a re-run stops at the same place. Each task that works on a range of a
split container starts from what was spent when the range was cut, so ranges do not share a counter: a split
container may therefore give up to its number of ranges times the limit.
"""

from __future__ import annotations

from core.errors import DocumentError, ExceptionCode
from core.records import Limits

_DROPS = 10  # members dropped before everything else under this loose file is refused too


class Budget:
    """Bytes and children extracted under one loose file so far."""

    def __init__(self, limits: Limits, loose_bytes: int, *, spent: int = 0) -> None:
        ratio_limit = max(limits.expansion_floor, int(limits.expansion_ratio * loose_bytes))
        self.allowed = min(limits.extracted_bytes, ratio_limit)
        self.loose_bytes = loose_bytes
        self.spent = spent
        self._children = 0
        self._children_allowed = limits.children
        self._drops = 0

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
        self._children += 1
        if self._children > self._children_allowed:
            raise DocumentError(
                ExceptionCode.CHILDREN_LIMIT, f"more than {self._children_allowed} items in one loose file"
            )

    def give_back(self, amount: int) -> None:
        """The child being taken was dropped: its bytes count no more."""
        self.spent -= amount

    def _over(self, amount: int) -> DocumentError:
        return DocumentError(
            ExceptionCode.EXPANSION_LIMIT,
            f"{self.spent + amount} bytes would have come out of {self.loose_bytes}; the limit is {self.allowed}",
        )
