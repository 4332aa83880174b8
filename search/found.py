"""Documents found by a query, as rows of numbers: a million of them in 24 MB."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from search.engine import SIGN, Found, owner_mark

Ids = npt.NDArray[np.uint64]  # (n, 2): the halves of each item's id


def item_ids(ids: Iterable[bytes]) -> Ids:
    """Ids of items, 16 bytes each."""
    return np.frombuffer(b"".join(ids), dtype=">u8").astype(np.uint64).reshape(-1, 2)


def uuids(ids: Ids) -> list[uuid.UUID]:
    """The inverse of `item_ids`."""
    return [uuid.UUID(int=(int(high) << 64) | int(low)) for high, low in ids.tolist()]


def found_of(documents: Iterable[tuple[uuid.UUID, str]]) -> Found:
    """Convert (item, owner) pairs."""
    pairs = list(documents)
    marks = np.array([owner_mark(owner) for _, owner in pairs], dtype=np.int64)
    return Found(items=item_ids(item.bytes for item, _ in pairs), owners=marks)


def found_in_columns(high: Sequence[object], low: Sequence[object], owners: Sequence[object]) -> Found:
    """Convert the values of an engine's columns: signed halves, shifted by SIGN."""
    halves = np.stack([np.array(each, dtype=np.int64) for each in (high, low)], axis=1)
    return Found(items=halves.view(np.uint64) ^ np.uint64(SIGN), owners=np.array(owners, dtype=np.int64))
