"""Items and exceptions of a job as a user browses them; conditions of searches that the ledger answers; tags, saved
searches, operator actions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.records import ExceptionLevel, Phase
from readers.errors import ExceptionCode
from readers.records import Kind
from sql.connection import Connection
from sql.figures import ItemCount
from sql.interface import implemented


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item with the columns of lists."""

    id: uuid.UUID
    parent: uuid.UUID | None
    family_id: uuid.UUID | None
    custodian: memoryview
    container_path: list[str]
    kind: str
    container: bool
    media_type: str
    name: memoryview
    bytes: int
    sha256: memoryview | None
    text_state: str | None
    characters: int | None
    pages: int | None
    shard: uuid.UUID | None
    codes: list[str] | None


@dataclass(frozen=True, slots=True)
class WholeItem(ItemRow):
    """An item with all its data; counts if it is a container."""

    depth: int
    content_hash: memoryview | None
    message_id_hash: memoryview | None
    location: memoryview | None
    path: memoryview | None
    mtime_ns: int | None
    metadata: Mapping[str, Any] | None
    announced: int | None
    emitted: int | None
    failed: int | None
    remainder_unknown: bool | None
    owner: str | None


@dataclass(frozen=True)
class ItemFailure:
    """An exception of a known item."""

    code: ExceptionCode
    level: ExceptionLevel
    phase: Phase
    detail: str
    missing: int | None


@dataclass(frozen=True)
class Member:
    """An item in the tree of a family; `failed`: it has exceptions."""

    id: uuid.UUID
    parent: uuid.UUID | None
    depth: int
    name: str
    kind: Kind
    container: bool
    media_type: str
    bytes: int
    failed: bool


@dataclass(frozen=True)
class FailureCount:
    """Number of exceptions that have something in common, and of their items."""

    name: str
    exceptions: int
    items: int
    missing: int


class Failure(NamedTuple):
    """An exception with the data of its item, if that is stored."""

    number: int
    item: uuid.UUID
    custodian: str | None
    container_path: list[str] | None
    kind: str | None
    media_type: str | None
    bytes: int | None
    code: str
    level: str
    phase: str
    detail: str
    missing: int | None


class ShardRow(NamedTuple):
    """A published shard; its location is relative to the storage root."""

    id: uuid.UUID
    engine: str
    location: bytes
    documents: int


class FoundRow(NamedTuple):
    """An item with the columns of a hit, and the location of its document; None: it has none."""

    id: uuid.UUID
    shard: uuid.UUID | None
    owner: str | None
    container_path: list[str]
    family_id: uuid.UUID | None
    kind: str
    media_type: str
    custodian: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Conditions of the part `wanted_items`; None: any item."""

    custodian: str | None
    type: str | None
    exception: str | None
    kind: str | None
    text_state: str | None
    conditions: str | None  # on metadata, as JSON
    duplicate: bool | None
    near: bool | None
    system: bool | None


class _Browse(Protocol):
    def items(self, conn: Connection, *, job: uuid.UUID, wanted: Wanted) -> Iterator[ItemRow]: ...
    def items_page(
        self, conn: Connection, *, job: uuid.UUID, after: uuid.UUID | None, limit: int, wanted: Wanted
    ) -> list[ItemRow]: ...
    def item_before(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID, wanted: Wanted) -> list[uuid.UUID]: ...
    def last_item(self, conn: Connection, *, job: uuid.UUID, wanted: Wanted) -> list[uuid.UUID]: ...
    def item_after(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID, wanted: Wanted) -> list[uuid.UUID]: ...
    def item_whole(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> WholeItem | None: ...
    def items_between(
        self, conn: Connection, *, job: uuid.UUID, low: uuid.UUID, high: uuid.UUID
    ) -> list[uuid.UUID]: ...
    def item_exceptions(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[ItemFailure]: ...
    def item_ancestors(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[Member]: ...
    def items_below(
        self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID, family: uuid.UUID | None, limit: int
    ) -> list[Member]: ...
    def count_custodians(self, conn: Connection, *, job: uuid.UUID) -> list[ItemCount]: ...
    def exceptions_by(self, conn: Connection, *, job: uuid.UUID, by: str, code: str | None) -> list[FailureCount]: ...
    def exceptions_page(
        self, conn: Connection, *, job: uuid.UUID, after: int, limit: int, code: str | None, type: str | None,
        custodian: str | None,
    ) -> list[Failure]: ...  # fmt: skip
    def shards(self, conn: Connection, *, job: uuid.UUID) -> list[ShardRow]: ...
    def true_owners(self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID]) -> list[FoundRow]: ...


BROWSE: _Browse = implemented(_Browse)


class IndexState(NamedTuple):
    """Properties of a job that change when its index does."""

    state: str
    finished_at: datetime | None
    shards: int
    documents: int
    engines: list[str]


class Owner(NamedTuple):
    """The owner of an item's valid document; ids as bytes."""

    item: memoryview
    owner: str


class JobItem(NamedTuple):
    """An item among all of its job; ids as bytes."""

    item: memoryview
    family: memoryview | None
    custodian: int


class FacetCount(NamedTuple):
    """Number of items of a type and a custodian."""

    type: str
    custodian: str
    items: int


@dataclass(frozen=True)
class Tag:
    """A tag, and the number of a job's items that have it."""

    tag: str
    items: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True)
class Tagged:
    """A tag of an item, and who gave it."""

    tag: str
    tagged_at: datetime
    tagged_by: str


@dataclass(frozen=True)
class Search:
    """A saved search."""

    name: str
    query: str
    saved_at: datetime
    saved_by: str


class _Search(Protocol):
    def index_state(self, conn: Connection, *, job: uuid.UUID) -> IndexState | None: ...
    def owned_documents(self, conn: Connection, *, job: uuid.UUID) -> dict[uuid.UUID, int]: ...
    def shard_owners(self, conn: Connection, *, job: uuid.UUID, shard: uuid.UUID) -> list[Owner]: ...
    def job_items(self, conn: Connection, *, job: uuid.UUID) -> Iterator[JobItem]: ...
    def has_items(self, conn: Connection, *, job: uuid.UUID, media_type: str | None, key: str | None) -> bool: ...
    def asked_items(
        self, conn: Connection, *, job: uuid.UUID, wanted: Wanted, least: int | None, most: int | None, tag: str | None
    ) -> Iterator[memoryview]: ...
    def found_items(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], limit: int
    ) -> list[FoundRow]: ...
    def found_facets(self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID]) -> list[FacetCount]: ...
    def items_there(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], families: bool
    ) -> list[uuid.UUID]: ...
    def add_tag(self, conn: Connection, *, job: uuid.UUID, tag: str, items: Sequence[uuid.UUID], who: str) -> int: ...
    def remove_tag(self, conn: Connection, *, job: uuid.UUID, tag: str, items: Sequence[uuid.UUID]) -> int: ...
    def tags_given(self, conn: Connection, *, job: uuid.UUID, tags: Sequence[str]) -> list[str]: ...
    def list_tags(self, conn: Connection, *, job: uuid.UUID) -> list[Tag]: ...
    def item_tags(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[Tagged]: ...
    def put_search(self, conn: Connection, *, job: uuid.UUID, name: str, query: str, who: str) -> int: ...
    def remove_search(self, conn: Connection, *, job: uuid.UUID, name: str) -> int: ...
    def list_searches(self, conn: Connection, *, job: uuid.UUID) -> list[Search]: ...


SEARCH: _Search = implemented(_Search)
