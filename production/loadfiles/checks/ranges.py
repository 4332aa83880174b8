"""Numbers run through, and families are whole: from their first record to their last, with what is attached to what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from production.loadfiles.checks.numbers import before, span


class Ranges:
    """Told the records in their order; holds the numbers of one family. `withheld`: first and last numbers that are said to be
    left out, in order."""

    def __init__(self, fault: Callable[[str], None], withheld: Iterable[tuple[str, str]] = ()) -> None:
        self._fault, self._withheld = fault, iter(withheld)
        self._left_out = next(self._withheld, None)  # the next that is
        self._last = ""  # number of the record before
        self._family = ("", "")
        self._members: set[str] = set()

    def at(self, row: Mapping[str, str]) -> None:
        """The next record."""
        begin, end = row["begin"], row["end"]
        known = self._known(begin)
        family = (row["begin_family"], row["end_family"])
        if self._last and not before(self._last, begin):
            self._fault(f"{begin}: comes after {self._last}")
        elif self._last and span(known, begin) != 2:
            self._fault(f"{begin}: numbers between {known} and it are missing")
        if before(end, begin) or before(begin, family[0]) or before(family[1], end):
            self._fault(f"{begin}: {begin} to {end} is not within its family's {family[0]} to {family[1]}")
        if family != self._family:
            self._begins(begin, family)
        self._hangs(begin, row.get("parent") or "")
        self._last = end
        self._members.add(begin)

    def _known(self, begin: str) -> str:
        """The last number before this one without a gap behind the record before: its own, or one that is said to be left out."""
        known = self._last
        while self._left_out is not None and before(self._left_out[0], begin):
            if known and span(known, self._left_out[0]) == 2:
                known = self._left_out[1]
            self._left_out = next(self._withheld, None)
        return known

    def end(self) -> None:
        """There is no record any more."""
        if self._family[1] != self._last:
            self._fault(f"{self._last}: is the last of its family, but that ends at {self._family[1]}")

    def _begins(self, begin: str, family: tuple[str, str]) -> None:
        if self._last:
            self.end()
            if not before(self._family[1], family[0]):
                told = " to ".join(family)
                self._fault(f"{begin}: its family {told} begins inside {' to '.join(self._family)}")
        if begin != family[0]:
            self._fault(f"{begin}: is the first of its family, but that begins at {family[0]}")
        self._family, self._members = family, set()

    def _hangs(self, begin: str, parent: str) -> None:
        """All of a family but its first are attached to one that came before them."""
        if parent and parent not in self._members:
            self._fault(f"{begin}: its parent {parent} is not before it in its family")
        elif not parent and self._members:
            self._fault(f"{begin}: it has no parent, but is not the first of its family")
