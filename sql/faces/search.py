"""What searches ask of the ledger; tags, searches that are kept, and who did what."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sql.face import face

if TYPE_CHECKING:
    from sqlalchemy import Connection


class IndexState(NamedTuple):
    """What changes when a job's index does."""

    state: str
    finished_at: datetime | None
    shards: int
    documents: int
    engines: list[str]


class Owned(NamedTuple):
    """Items that name a shard."""

    shard: uuid.UUID
    documents: int


class Owner(NamedTuple):
    """Which owner's document an item names; ids as bytes."""

    item: memoryview
    owner: str


class JobItem(NamedTuple):
    """An item among all of its job; ids as bytes."""

    item: memoryview
    family: memoryview | None
    custodian: int


class CustodianName(NamedTuple):
    """A custodian of a job."""

    number: int
    display: str


class FoundRow(NamedTuple):
    """An item with what a hit shows, and where its document is; None: it has none."""

    id: uuid.UUID
    shard: uuid.UUID | None
    owner: str | None
    container_path: list[str]
    family_id: uuid.UUID | None
    kind: str
    media_type: str
    custodian: str


class FacetCount(NamedTuple):
    """Items of a type and a custodian."""

    type: str
    custodian: str
    items: int


class TagCount(NamedTuple):
    """A tag and how many items have it."""

    tag: str
    items: int
    first_at: datetime
    last_at: datetime


class Tagged(NamedTuple):
    """A tag of an item."""

    tag: str
    tagged_at: datetime
    tagged_by: str


class SavedSearch(NamedTuple):
    """A search that is kept."""

    name: str
    query: str
    saved_at: datetime
    saved_by: str


class _Search(Protocol):
    def index_state(self, conn: Connection, *, job: uuid.UUID) -> IndexState | None: ...
    def owned_documents(self, conn: Connection, *, job: uuid.UUID) -> list[Owned]: ...
    def shard_owners(self, conn: Connection, *, job: uuid.UUID, shard: uuid.UUID) -> list[Owner]: ...
    def job_items(self, conn: Connection, *, job: uuid.UUID) -> Iterator[JobItem]: ...
    def job_custodians(self, conn: Connection, *, job: uuid.UUID) -> list[CustodianName]: ...
    def has_items(self, conn: Connection, *, job: uuid.UUID, media_type: str | None, key: str | None) -> bool: ...
    def asked_items(
        self, conn: Connection, *, job: uuid.UUID, custodian: str | None, type: str | None, exception: str | None,
        kind: str | None, text_state: str | None, conditions: str | None, least: int | None, most: int | None,
        tag: str | None, duplicate: bool | None, near: bool | None, system: bool | None,
    ) -> Iterator[memoryview]: ...  # fmt: skip
    def found_items(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], limit: int
    ) -> list[FoundRow]: ...
    def found_facets(self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID]) -> list[FacetCount]: ...
    def items_there(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], families: bool
    ) -> list[uuid.UUID]: ...
    def add_tag(self, conn: Connection, *, job: uuid.UUID, tag: str, items: Sequence[uuid.UUID], who: str) -> int: ...
    def remove_tag(self, conn: Connection, *, job: uuid.UUID, tag: str, items: Sequence[uuid.UUID]) -> int: ...
    def list_tags(self, conn: Connection, *, job: uuid.UUID) -> list[TagCount]: ...
    def item_tags(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[Tagged]: ...
    def put_search(self, conn: Connection, *, job: uuid.UUID, name: str, query: str, who: str) -> int: ...
    def remove_search(self, conn: Connection, *, job: uuid.UUID, name: str) -> int: ...
    def list_searches(self, conn: Connection, *, job: uuid.UUID) -> list[SavedSearch]: ...


SEARCH: _Search = face(_Search)
