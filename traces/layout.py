"""Names for the nodes of a trace: what a replay, a fio job and an elbencho tree file made of one trace all call its files.

A trace keeps no names, so they are made up: each as long as the recorded one, spread over the alphabet as hashes are (a
directory that is filled in sorted order is easier for a file system than most are in life), lower case only (so that two
never meet on a filer that takes capitals for the same), and the same each time for the same trace.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from core.names import MAX_NAME_BYTES
from traces.model import NO_NODE, Node

_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_BASE = len(_DIGITS)
_VARIED = 10  # digits of a name that differ from its siblings'; 36^10 is more than any directory holds
_SPREAD = 2_259_683_671_048_777  # about 36^10 / golden ratio, and no multiple of 2 or 3: each product is met once only
_FILL = b"_"
_CACHED_DIRECTORIES = 65_536


class Layout:
    """The relative path of every node of a trace.

    Root number n is called `root<n>`; every other name has the recorded length. Only where a directory holds more names
    of one length than 36 letters can tell apart (37 of one byte, 1,297 of two) the rest are a byte longer; lengths
    outside 1 to 255 become the nearest. Takes about 20 bytes of memory a node.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._parents = array("q")
        self._ordinals = array("q")  # among the siblings of that length; of a root among the roots
        self._lengths = array("B")  # of the name; 0 of a root
        self.longest = 0  # bytes of the longest relative path
        self._number(nodes)
        self._above = lru_cache(_CACHED_DIRECTORIES)(self._prefix)

    def _number(self, nodes: Sequence[Node]) -> None:
        taken: dict[tuple[int, int], int] = defaultdict(int)
        totals = array("i")  # of the relative path, in bytes
        roots = 0
        for node in nodes:
            if node.parent == NO_NODE:
                ordinal, length, total = roots, 0, len(_root(roots))
                roots += 1
            else:
                length = min(max(node.name_bytes, 1), MAX_NAME_BYTES)
                while length < _VARIED and taken[node.parent, length] >= _BASE**length:
                    length += 1
                ordinal = taken[node.parent, length]
                taken[node.parent, length] = ordinal + 1
                total = totals[node.parent] + 1 + length
            self._parents.append(node.parent)
            self._ordinals.append(ordinal)
            self._lengths.append(length)
            totals.append(total)
            self.longest = max(self.longest, total)

    def __len__(self) -> int:
        return len(self._parents)

    def name(self, node: int) -> bytes:
        """The last part of the path."""
        length = self._lengths[node]
        return _name(self._ordinals[node], length) if length else _root(self._ordinals[node])

    def path(self, node: int) -> bytes:
        """The path from where the tree is laid out, parts divided by `/`; begins with its root's name."""
        parent = self._parents[node]
        return self.name(node) if parent == NO_NODE else self._above(parent) + self.name(node)

    def _prefix(self, directory: int) -> bytes:
        parts = [b""]
        while directory != NO_NODE:
            parts.append(self.name(directory))
            directory = self._parents[directory]
        return b"/".join(reversed(parts))


def _root(ordinal: int) -> bytes:
    return b"root%d" % ordinal


def _name(ordinal: int, length: int) -> bytes:
    varied = min(length, _VARIED)
    rest = (ordinal + 1) * _SPREAD % _BASE**varied
    name = bytearray(_FILL * length)
    for position in range(varied - 1, -1, -1):
        rest, digit = divmod(rest, _BASE)
        name[position] = _DIGITS[digit]
    return bytes(name)
