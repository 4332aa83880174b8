"""Queries for the chain of custody."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sql.connection import Connection
from sql.interface import QUERIES, implemented

COMPLETED, CANCELLED = "completed", "cancelled"  # actions that the product itself writes into a job's list


class Written(NamedTuple):
    """An item that has a file on the filer."""

    id: uuid.UUID
    kind: str
    container_path: list[str]
    location: memoryview
    bytes: int


class Loose(NamedTuple):
    """A custodian's loose files."""

    custodian: str
    items: int


@dataclass(frozen=True, slots=True)
class Example:
    """One difference."""

    what: str
    kind: str
    container_path: tuple[str, ...]
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Count:
    """Differences of one sort in items of one kind."""

    what: str
    kind: str
    items: int


class _Verify(Protocol):
    def verify_tables(self, conn: Connection) -> None: ...
    def verify_pair_by_id(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def verify_pair_index(self, conn: Connection) -> None: ...
    def verify_pair_by_path(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def verify_loose(self, conn: Connection, *, job: uuid.UUID) -> list[Loose]: ...
    def verify_files(self, conn: Connection, *, job: uuid.UUID, after: uuid.UUID, limit: int) -> list[Written]: ...
    def verify_known_locations(
        self, conn: Connection, *, job: uuid.UUID, items: Sequence[uuid.UUID]
    ) -> list[memoryview]: ...
    def add_difference(
        self, conn: Connection, *, what: str, kind: str, path: Sequence[str], expected: str, found: str
    ) -> None: ...
    def verify_owners(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def verify_ghosts(self, conn: Connection) -> int: ...
    def verify_terms(self, conn: Connection, *, terms: Sequence[str]) -> None: ...
    def count_differences(self, conn: Connection) -> list[Count]: ...
    def example_differences(self, conn: Connection, *, limit: int) -> list[Example]: ...


VERIFY: _Verify = implemented(_Verify)


def run_check(conn: Connection, check: str, job: uuid.UUID) -> None:
    """One of the checks that add to the differences, by name."""
    QUERIES[f"verify_{check}"].run(conn, job=job)


class ActionRow(NamedTuple):
    """An operator action; `expected` is the hash that `chain` should have, `hashed` the text that it is computed from."""

    at: datetime
    who: str
    action: str
    details: Mapping[str, Any]
    chain: memoryview
    hashed: str
    expected: memoryview


class Suspension(NamedTuple):
    """The reason of a job's suspension, and its start."""

    reason: str
    since: datetime


class CustodyRow(NamedTuple):
    """An item as it was read, and the task that extracted its text; `before` made that task, `first` the one before."""

    id: uuid.UUID
    custodian: str
    container_path: list[str]
    kind: str
    container: bool
    media_type: str
    bytes: int
    sha256: memoryview | None
    content_hash: memoryview | None
    message_id_hash: memoryview | None
    text_state: str | None
    codes: list[str] | None
    task: uuid.UUID | None
    before: uuid.UUID | None
    first: uuid.UUID | None


class TaskRow(NamedTuple):
    """A task as it was last done."""

    id: uuid.UUID
    phase: str
    worker: str | None
    finished_at: datetime | None
    parsers: uuid.UUID
    joined: bool


class _Custody(Protocol):
    def note_action(self, conn: Connection, *, job: uuid.UUID, who: str, action: str, details: str) -> int: ...
    def suspension(self, conn: Connection, *, job: uuid.UUID) -> Suspension | None: ...
    def list_actions(self, conn: Connection, *, job: uuid.UUID) -> list[ActionRow]: ...
    def custody_items(self, conn: Connection, *, job: uuid.UUID, after: uuid.UUID, limit: int) -> list[CustodyRow]: ...
    def custody_tasks(self, conn: Connection, *, tasks: Sequence[uuid.UUID]) -> list[TaskRow]: ...
    def custody_parsers(self, conn: Connection, *, job: uuid.UUID) -> dict[uuid.UUID, Mapping[str, Any]]: ...


CUSTODY: _Custody = implemented(_Custody)
