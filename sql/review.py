"""Results of reviews for jobs and single items; package `review` writes them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sql.connection import Connection
from sql.interface import implemented


class ReviewRow(NamedTuple):
    """The latest finding of one kind in a job; times in seconds since the epoch."""

    token: uuid.UUID
    options: Mapping[str, Any]
    figures: Mapping[str, Any]
    created_at: float
    stale: bool


class EqualRow(NamedTuple):
    """An item of a group of duplicates."""

    item: uuid.UUID
    job: uuid.UUID
    copy_of: uuid.UUID | None  # its original; None: it is the original
    custodian: str
    container_path: list[str]


class ThreadMember(NamedTuple):
    """A message of a thread; its time in UTC."""

    item: uuid.UUID
    job: uuid.UUID
    parent: uuid.UUID | None
    depth: int
    sent_at: str | None
    subject: str | None
    custodian: str
    container_path: list[str]


class NearOne(NamedTuple):
    """A text of a group of near-duplicates."""

    item: uuid.UUID
    job: uuid.UUID
    near_to: uuid.UUID | None  # its principal; None: it is the principal
    similarity: float
    custodian: str
    container_path: list[str]


class _Review(Protocol):
    def get_review(self, conn: Connection, *, job: uuid.UUID, kind: str) -> ReviewRow | None: ...
    def original_of(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[uuid.UUID]: ...
    def equals_of(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], original: uuid.UUID, families: bool, limit: int
    ) -> list[EqualRow]: ...
    def thread_with(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[uuid.UUID]: ...
    def thread_of(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], thread: uuid.UUID, limit: int
    ) -> list[ThreadMember]: ...
    def principal_of(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[uuid.UUID]: ...
    def near_of(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], principal: uuid.UUID, limit: int
    ) -> list[NearOne]: ...


REVIEW: _Review = implemented(_Review)
