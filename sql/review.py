"""Results of reviews for jobs and single items; package `review` writes them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Equal:
    """An item of a group of duplicates."""

    item: uuid.UUID
    job: uuid.UUID
    copy_of: uuid.UUID | None  # the original; None for the original itself
    custodian: str
    container_path: tuple[str, ...]


@dataclass(frozen=True)
class Near:
    """An item of a group of near-duplicates; `similarity` to the principal, from 0 to 1."""

    item: uuid.UUID
    job: uuid.UUID
    near_to: uuid.UUID | None  # the principal; None for the principal itself
    similarity: float
    custodian: str
    container_path: tuple[str, ...]


@dataclass(frozen=True)
class Message:
    """A message of a thread; `parent` is the one that it answers, `depth` how many are above it, `sent_at` in UTC."""

    item: uuid.UUID
    job: uuid.UUID
    parent: uuid.UUID | None
    depth: int
    sent_at: str | None
    subject: str | None
    custodian: str
    container_path: tuple[str, ...]


class _Review(Protocol):
    def get_review(self, conn: Connection, *, job: uuid.UUID, kind: str) -> ReviewRow | None: ...
    def original_of(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[uuid.UUID]: ...
    def equals_of(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], original: uuid.UUID, families: bool, limit: int
    ) -> list[Equal]: ...
    def thread_with(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[uuid.UUID]: ...
    def thread_of(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], thread: uuid.UUID, limit: int
    ) -> list[Message]: ...
    def principal_of(self, conn: Connection, *, job: uuid.UUID, item: uuid.UUID) -> list[uuid.UUID]: ...
    def near_of(
        self, conn: Connection, *, jobs: Sequence[uuid.UUID], principal: uuid.UUID, limit: int
    ) -> list[Near]: ...


REVIEW: _Review = implemented(_Review)
