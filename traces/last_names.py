"""What each file of a trace is called in the end."""

from __future__ import annotations

from array import array

from traces.model import NO_NODE, Call


class LastNames:
    """Node → the node that it was renamed to, through any number of renames; itself where there was none.

    A name that was given to several files one after another stands for the last of them. 8 bytes of memory a node.
    """

    def __init__(self, nodes: int) -> None:
        self._names = array("q", range(nodes))

    def take(self, rename: Call) -> None:
        """A rename that succeeded."""
        if rename.other != NO_NODE:
            self._names[rename.other] = rename.node

    def settle(self) -> None:
        """Follow every name to its end; once, after the last `take`."""
        for number in range(len(self._names)):
            self._names[number] = self._last(number)

    def _last(self, number: int) -> int:
        """Names that were given round in a circle end where the circle closes."""
        if self._names[number] == number:
            return number
        seen: set[int] = set()
        while self._names[number] != number and number not in seen:
            seen.add(number)
            number = self._names[number]
        return number

    def __getitem__(self, node: int) -> int:
        return self._names[node]
