"""The exact set of items that a query finds: its index part from every shard, its ledger part from the database,
combined."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from controller.browse.item_filter import ALL_ITEMS, Condition, ItemFilter
from controller.databases import JobHandle
from controller.search.items import JobItems, Mask, streaming
from controller.search.opened import OpenIndex
from readers.keys import DATE, NUMBER, TEXT
from readers.records import TextState
from search.engine import Found, owner_mark
from search.found import Ids, item_ids
from search.language import CUSTODIAN_IS, EXCEPTION, SIZE, TAG, TEXT_STATE, TYPE_IS, ledger_kind
from search.query import All, Asked, Either, Node, asks_ledger
from sql.browse import SEARCH

_FOREVER = 1 << 62  # bytes


@dataclass(slots=True)
class Evaluation:
    """Sets of items of one job."""

    index: OpenIndex

    @property
    def items(self) -> JobItems:
        """All items of the job."""
        return self.index.items

    def mask(self, node: Node) -> Mask:
        """Return the items that a query finds. Raises UsageError, StorageFault, DatabaseFault."""
        if not asks_ledger(node):
            return self._mask(true_items(self.index, node))
        match node:
            case All(wanted, excluded):
                out = np.ones(len(self.items), dtype=np.bool_)
                for each in wanted:
                    out &= self.mask(each)
                for each in excluded:
                    out &= ~self.mask(each)
                return out
            case Either(choices):
                either: Mask = np.logical_or.reduce([self.mask(each) for each in choices])
                return either
            case Asked():
                return self._mask(_asked(self.index.handle, node))
        raise AssertionError(f"{node} does not query the ledger")

    def _mask(self, ids: Ids) -> Mask:
        out = np.zeros(len(self.items), dtype=np.bool_)
        out[self.items.positions(ids)] = True
        return out


def true_items(index: OpenIndex, node: Node) -> Ids:
    """Return the items whose valid document matches a query that the index alone can answer."""
    return np.concatenate(
        [np.zeros((0, 2), dtype=np.uint64), *(true_items_of(index, shard, node) for shard in index.readers)]
    )


def true_items_of(index: OpenIndex, shard: uuid.UUID, node: Node) -> Ids:
    """Return the items of one shard whose valid document matches."""
    found = index.readers[shard].found(node)
    return found.items if shard in index.clean else _owned(index.handle, shard, found)


def _owned(handle: JobHandle, shard: uuid.UUID, found: Found) -> Ids:
    """Return the found items whose document in this shard is the one that the database names."""
    rows = handle.database.ask(SEARCH.shard_owners, job=handle.id, shard=shard)
    marks = {owner: owner_mark(owner) for owner in {row.owner for row in rows}}
    ids = item_ids(bytes(row.item) for row in rows).tolist()
    true = {(high, low, marks[row.owner]) for (high, low), row in zip(ids, rows, strict=True)}
    each = zip(found.items.tolist(), found.owners.tolist(), strict=True)
    return found.items[np.array([(*item, owner) in true for item, owner in each], dtype=np.bool_)]


def _asked(handle: JobHandle, asked: Asked) -> Ids:
    wanted, least, most, tag = ALL_ITEMS, None, None, None
    if asked.field == SIZE:
        least, most = _sizes(asked.op, min(int(asked.value), _FOREVER))
    elif asked.field == TAG:
        tag = asked.value
    else:
        wanted = _filter(asked)
    with handle.database.transaction() as conn:
        rows = SEARCH.asked_items(
            streaming(conn), job=handle.id, least=least, most=most, tag=tag, wanted=wanted.parameters()
        )
        return item_ids(map(bytes, rows))


def _sizes(op: str, size: int) -> tuple[int, int]:
    ends: dict[str, tuple[int, int]] = {
        "=": (size, size),
        "<": (0, size - 1),
        "<=": (0, size),
        ">": (size + 1, _FOREVER),
        ">=": (size, _FOREVER),
    }
    return ends[op]


def _filter(asked: Asked) -> ItemFilter:
    own: dict[str, Callable[[str], ItemFilter]] = {
        TEXT_STATE: lambda value: ItemFilter(text_state=TextState(value)),
        EXCEPTION: lambda value: ItemFilter(exception=value),
        CUSTODIAN_IS: lambda value: ItemFilter(custodian=value),
        TYPE_IS: lambda value: ItemFilter(type=value),
    }
    if asked.field in own:
        return own[asked.field](asked.value)
    kind = ledger_kind(asked.field)
    compared = kind if kind in (DATE, NUMBER) else TEXT
    return ItemFilter(conditions=(Condition(asked.field, asked.op, asked.value, compared),))
