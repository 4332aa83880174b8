"""Items as tasks and tools read them back."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from readers.errors import ExceptionCode
from sql.connection import Connection
from sql.findings import Item, ItemText
from sql.interface import implemented


class ItemCode(NamedTuple):
    """An exception of an item."""

    item: uuid.UUID
    code: ExceptionCode


class _Items(Protocol):
    def load_items(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[Item]: ...
    def load_texts(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[ItemText]: ...
    def item_codes(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[ItemCode]: ...
    def item_locations(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> dict[uuid.UUID, bytes | None]: ...
    def shard_ids(self, conn: Connection, *, job: uuid.UUID) -> list[uuid.UUID]: ...


ITEMS: _Items = implemented(_Items)
