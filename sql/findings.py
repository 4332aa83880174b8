"""Results of a task: the rows that its claim writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

from core.job_types import FileKind
from core.records import ClaimedTask, ExceptionLevel, NewTask, Shard
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from sql.connection import Connection


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a job; one row of table `item`."""

    id: uuid.UUID
    parent: uuid.UUID | None
    family: uuid.UUID | None  # topmost non-container around it, itself included; None outside any family
    custodian: int  # row number of the custodian in its job
    ordinal: bytes  # see core.places
    depth: int  # 0 for a loose file
    name: bytes  # as the source or the parent gives it
    container_path: tuple[str, ...]  # display names from the loose file's relative path down to this item's
    kind: Kind
    container: bool
    media_type: str
    size: int  # bytes, as stored or extracted
    sha256: bytes | None  # None when its bytes could not be read
    content_hash: bytes | None = None  # messages: over normalised fields
    message_id_hash: bytes | None = None  # messages: EDRM MIH (MD5)
    location: bytes | None = None  # written file relative to the storage root; None for loose files
    mtime_ns: int | None = None  # loose files


class ItemException(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded failure of one item."""

    item: uuid.UUID
    code: ExceptionCode
    level: ExceptionLevel
    detail: str
    missing: int | None = None  # node-level: announced children that have no row, where known


class ContainerCount(msgspec.Struct, frozen=True, kw_only=True):
    """The announced, emitted and failed children of one container; counts of several ranges add up.

    expected = announced if the format announces, else emitted + failed; a container that was cut short has one failed
    child for the unknown remainder."""

    item: uuid.UUID
    announced: int | None
    emitted: int
    failed: int
    remainder_unknown: bool = False


class ItemText(msgspec.Struct, frozen=True, kw_only=True):
    """The result of text extraction for one item; one row of table `item_text`."""

    item: uuid.UUID
    state: TextState
    characters: int
    pages: int
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)  # subject, from, to, date, title, author, …


class IndexOwner(msgspec.Struct, frozen=True, kw_only=True):
    """The shard that holds the only valid index document of an item; the row has the claim token of its writer."""

    item: uuid.UUID
    shard: uuid.UUID


class OwnFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the results of a task of a registered job type (core.job_types)."""

    @property
    def kinds(self) -> Iterable[FileKind]:
        """The kind of each file that the task wrote below the output directory."""
        return ()

    def write(self, conn: Connection, claimed: ClaimedTask) -> None:
        """Write the rows, in the transaction that ends the task."""
        raise NotImplementedError


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one claim of a task, except for those written in portions before; written in one transaction or
    not at all."""

    items: tuple[Item, ...] = ()
    exceptions: tuple[ItemException, ...] = ()
    containers: tuple[ContainerCount, ...] = ()
    texts: tuple[ItemText, ...] = ()
    owners: tuple[IndexOwner, ...] = ()
    shard: Shard | None = None
    own: OwnFindings | None = None  # of a registered job type
    follow_on: tuple[NewTask, ...] = ()
    written: int = 0  # items that were written in portions
    portions: int | None = None  # number of portions that the ledger must have; None: as at the claim
    spent: dict[uuid.UUID, float] = msgspec.field(
        default_factory=dict
    )  # seconds by loose file, for files that several tasks work on
    raw_bytes: int = 0  # loose files read by this task
    extracted_bytes: int = 0  # children written by this task
    index_bytes: int = 0  # written to publish index files

    @property
    def durable(self) -> bool:
        """Whether its commit must survive a crash of the database, because external files depend on it: a slot
        publishes to its shard again and again."""
        return self.shard is not None and self.shard.first
