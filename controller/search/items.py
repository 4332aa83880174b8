"""All items of a job as columns of numbers, so that sets of them are cheap: 28 bytes an item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from controller.databases import JobHandle
from search.found import Ids, item_ids
from sql.browse import SEARCH
from sql.connection import Connection
from sql.jobs import JOBS

Mask = npt.NDArray[np.bool_]  # by position: whether the item is in a set
Positions = npt.NDArray[np.int64]
_ROWS_AT_ONCE = 20_000
NO_FAMILY = _NOWHERE = -1


@dataclass(frozen=True, slots=True)
class JobItems:
    """A job's items in the order of their ids; an item's index is its position."""

    ids: Ids
    families: npt.NDArray[np.int64]  # position of the family's topmost item, NO_FAMILY outside any
    custodians: npt.NDArray[np.int64]  # numbers
    names: dict[int, str]  # of custodians

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: Ids) -> Positions:
        """Return the positions of these items, without those that the job does not have."""
        at = _positions(self.ids, ids)
        known: Positions = at[at != _NOWHERE]
        return known

    def with_families(self, mask: Mask) -> Mask:
        """Return these items and everything in their families."""
        out = mask.copy()
        families = np.unique(self.families[mask])
        whole = np.zeros(len(self), dtype=np.bool_)
        whole[families[families != NO_FAMILY]] = True
        inside = self.families != NO_FAMILY
        out[inside] |= whole[self.families[inside]]
        return out


def _positions(known: Ids, ids: Ids) -> Positions:
    """Return the position of each id, or _NOWHERE. The upper halves are searched; if two items have the same one, the
    lower half decides."""
    if not len(known) or not len(ids):
        return np.full(len(ids), _NOWHERE, dtype=np.int64)
    at = np.searchsorted(known[:, 0], ids[:, 0])
    for _ in range(len(known)):
        inside = np.minimum(at, len(known) - 1)
        further = (at < len(known)) & (known[inside, 0] == ids[:, 0]) & (known[inside, 1] < ids[:, 1])
        if not further.any():
            break
        at = at + further
    inside = np.minimum(at, len(known) - 1)
    there = (at < len(known)) & (known[inside] == ids).all(axis=1)
    return np.where(there, at, _NOWHERE).astype(np.int64)


def load_items(handle: JobHandle) -> JobItems:
    """Read all items of a job. Raises DatabaseFault."""
    items: list[bytes] = []
    families: list[bytes] = []
    custodians: list[int] = []
    nothing = bytes(16)
    with handle.database.transaction() as conn:
        names = JOBS.job_custodians(conn, job=handle.id)
        for item, family, custodian in SEARCH.job_items(streaming(conn), job=handle.id):
            items.append(bytes(item))
            families.append(nothing if family is None else bytes(family))
            custodians.append(custodian)
    ids, tops = item_ids(items), item_ids(families)
    known = (tops != 0).any(axis=1)
    of = np.full(len(items), NO_FAMILY, dtype=np.int64)
    of[known] = _positions(ids, tops[known])
    return JobItems(ids, of, np.array(custodians, dtype=np.int64), names)


def streaming(conn: Connection) -> Connection:
    """Return a connection that streams its rows."""
    return conn.streaming(_ROWS_AT_ONCE)
