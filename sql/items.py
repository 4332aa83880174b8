"""Items as tasks and tools read them back."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from readers.errors import ExceptionCode
from sql.face import face
from sql.findings import Item, ItemText

if TYPE_CHECKING:
    from sqlalchemy import Connection


class ItemCode(NamedTuple):
    """An exception of an item."""

    item: uuid.UUID
    code: ExceptionCode


class ItemLocation(NamedTuple):
    """Where an item is written; None: nowhere."""

    id: uuid.UUID
    location: bytes | None


class CustodianName(NamedTuple):
    """A custodian of a job for people."""

    number: int
    display: str


class _Items(Protocol):
    def load_items(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[Item]: ...
    def load_texts(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[ItemText]: ...
    def item_codes(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[ItemCode]: ...
    def item_locations(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[ItemLocation]: ...
    def shard_ids(self, conn: Connection, *, job: uuid.UUID) -> list[uuid.UUID]: ...
    def custodian_names(self, conn: Connection, *, job: uuid.UUID) -> list[CustodianName]: ...


ITEMS: _Items = face(_Items)
