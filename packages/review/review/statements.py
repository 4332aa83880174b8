"""SQL statements of reviews: over temporary tables, for storing findings and for listing them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from sql.connection import Connection
from sql.interface import implemented, load_queries


class DedupeCounts(NamedTuple):
    """Counts of the items of one database."""

    items: int
    containers: int
    duplicates: int
    duplicate_bytes: int


class GroupCounts(NamedTuple):
    """Counts of all compared items or families."""

    compared: int
    groups: int
    copies: int
    several_ids: int
    several_hashes: int


class DuplicateRow(NamedTuple):
    """A member of a group of duplicates."""

    item: uuid.UUID
    original: uuid.UUID
    original_job: uuid.UUID
    duplicate: bool
    custodian: str
    container_path: list[str]
    kind: str
    media_type: str
    bytes: int
    sha256: memoryview | None
    message_hash: memoryview | None
    message_id_hash: memoryview | None
    original_path: list[str] | None
    custodians: list[str] | None
    duplicates: int | None


class NearItem(NamedTuple):
    """An item that may be compared by its text; its id as bytes."""

    item: memoryview
    custodian: int


class NearRow(NamedTuple):
    """A member of a group of texts that are nearly the same."""

    item: uuid.UUID
    principal: uuid.UUID
    principal_job: uuid.UUID
    near: bool
    similarity: float
    custodian: str
    container_path: list[str]
    kind: str
    media_type: str
    bytes: int
    principal_path: list[str] | None
    members: int | None


class HashedCount(NamedTuple):
    """The number of items, and of those without a hash."""

    items: int
    unknown: int


class FlaggedCount(NamedTuple):
    """Items that a list flagged, by its number."""

    number: int
    items: int
    bytes: int


class SystemFile(NamedTuple):
    """An item that is flagged as a system file, with the name of the list that flags it."""

    item: uuid.UUID
    custodian: str
    container_path: Sequence[str]
    media_type: str
    bytes: int
    sha256: memoryview | None
    list: str


class MailRow(NamedTuple):
    """Fields of a message that place it in a thread."""

    id: uuid.UUID
    custodian: int
    content: str
    message_id: str | None
    in_reply_to: str | None
    conversation: str | None
    subject: str | None
    sent: str | None
    reference_ids: list[str]


class ThreadRow(NamedTuple):
    """A message in its thread; times in UTC."""

    thread: uuid.UUID
    item: uuid.UUID
    parent: uuid.UUID | None
    depth: int
    by: str
    sent_at: str | None
    date_original: str | None
    custodian: str
    container_path: list[str]
    subject: str | None
    message_id: str | None


class Undigested(NamedTuple):
    """An item whose MD5 and SHA-1 are unknown, and the location of its bytes."""

    id: uuid.UUID
    path: memoryview | None
    location: memoryview | None
    bytes: int
    sha256: memoryview


class _Review(Protocol):
    def dedupe_memory(self, conn: Connection) -> None: ...
    def dedupe_tables(self, conn: Connection) -> None: ...
    def dedupe_jobs(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], units: Sequence[int], places: Sequence[int]
    ) -> None: ...
    def dedupe_unsure(self, conn: Connection) -> None: ...
    def dedupe_keys(self, conn: Connection, *, scope: str, empty: bytes) -> None: ...
    def dedupe_items(self, conn: Connection) -> None: ...
    def dedupe_families(self, conn: Connection) -> None: ...
    def dedupe_groups(self, conn: Connection) -> None: ...
    def dedupe_places(self, conn: Connection) -> None: ...
    def dedupe_outcome(self, conn: Connection) -> None: ...
    def dedupe_digest(self, conn: Connection) -> memoryview: ...
    def dedupe_clear(self, conn: Connection) -> None: ...
    def dedupe_store_items(self, conn: Connection) -> None: ...
    def dedupe_store_families(self, conn: Connection) -> None: ...
    def dedupe_counts(self, conn: Connection) -> DedupeCounts: ...
    def dedupe_group_counts(self, conn: Connection) -> GroupCounts: ...
    def lock_reviewed(self, conn: Connection, *, jobs: Sequence[uuid.UUID]) -> list[uuid.UUID]: ...
    def put_review(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], kind: str, token: uuid.UUID, options: str, figures: str
    ) -> None: ...
    def duplicates(self, conn: Connection, *, job: uuid.UUID, families: bool) -> Iterator[DuplicateRow]: ...
    def near_items(self, conn: Connection, *, job: uuid.UUID) -> Iterator[NearItem]: ...
    def clear_near(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def put_near(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], principals: Sequence[uuid.UUID],
        principal_jobs: Sequence[uuid.UUID], similarities: Sequence[float], members: Sequence[int | None],
    ) -> None: ...  # fmt: skip
    def near_bytes(self, conn: Connection, *, job: uuid.UUID) -> int: ...
    def near_duplicates(self, conn: Connection, *, job: uuid.UUID) -> Iterator[NearRow]: ...
    def put_languages(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], languages: Sequence[str]
    ) -> None: ...
    def clear_system_files(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def count_system_files(self, conn: Connection, *, job: uuid.UUID) -> list[FlaggedCount]: ...
    def count_hashed(self, conn: Connection, *, job: uuid.UUID, digests: bool) -> HashedCount: ...
    def system_files(self, conn: Connection, *, job: uuid.UUID, names: Sequence[str]) -> Iterator[SystemFile]: ...
    def thread_messages(self, conn: Connection, *, job: uuid.UUID, empty: bytes) -> Iterator[MailRow]: ...
    def clear_threads(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def put_threads(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], threads: Sequence[uuid.UUID],
        parents: Sequence[uuid.UUID | None], depths: Sequence[int], by: Sequence[str],
        sent: Sequence[datetime | None],
    ) -> None: ...  # fmt: skip
    def threads(self, conn: Connection, *, job: uuid.UUID) -> Iterator[ThreadRow]: ...
    def without_digest(self, conn: Connection, *, job: uuid.UUID, after: uuid.UUID, limit: int) -> list[Undigested]: ...
    def put_digests(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID], sha256: Sequence[bytes],
        md5: Sequence[bytes], sha1: Sequence[bytes],
    ) -> None: ...  # fmt: skip


STATEMENTS = load_queries("review")
REVIEW: _Review = implemented(_Review, STATEMENTS)
