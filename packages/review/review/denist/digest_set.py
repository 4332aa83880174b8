"""A set of digests in which lists are looked up.

It is sorted by the first eight bytes as a number: a CPU looks up ten million in a second or two. All digests that begin
with these bytes are then compared whole. A list is neither sorted nor stored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Digests = npt.NDArray[np.uint8]  # rows × bytes of a digest


class DigestSet:
    """Digests of one length, numbered in the given order; equal ones may occur several times. A digest of zeros means
    none and is never found."""

    def __init__(self, digests: Digests) -> None:
        heads = _heads(digests)
        self._order = np.argsort(heads, kind="stable")
        self._heads = heads[self._order]
        self._digests = digests[self._order]
        self._found = np.zeros(len(digests), bool)

    def look_up(self, piece: Digests) -> None:
        """Mark the digests that are in this piece of a list."""
        if not len(self._heads) or not len(piece):
            return
        heads = _heads(piece)
        at = np.searchsorted(self._heads, heads)
        rows = np.arange(len(piece))
        while True:
            there = at < len(self._heads)
            there[there] = self._heads[at[there]] == heads[rows[there]]
            at, rows = at[there], rows[there]
            if not len(at):
                return
            equal = (self._digests[at] == piece[rows]).all(axis=1)
            self._found[at[equal]] = True
            at = at + 1  # the next may begin alike, or be equal

    def found(self) -> npt.NDArray[np.bool_]:
        """Return, for each digest in the given order, whether it was in any piece so far."""
        out = np.zeros(len(self._found), bool)
        out[self._order] = self._found & self._digests.any(axis=1)
        return out


def _heads(digests: Digests) -> npt.NDArray[np.uint64]:
    return np.ascontiguousarray(digests[:, :8]).view(">u8").reshape(-1).astype(np.uint64)
