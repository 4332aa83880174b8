"""What `edbench verify` asks of the database; differences go to a table of the transaction."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sql.face import face
from sql.queries import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


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


class Difference(NamedTuple):
    """One that was found."""

    what: str
    kind: str
    container_path: list[str]
    expected: str | None
    found: str | None


class DifferenceCount(NamedTuple):
    """Those of one sort."""

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
    def count_differences(self, conn: Connection) -> list[DifferenceCount]: ...
    def example_differences(self, conn: Connection, *, limit: int) -> list[Difference]: ...


VERIFY: _Verify = face(_Verify)


def run_check(conn: Connection, check: str, job: uuid.UUID) -> None:
    """One of the checks that add to the differences, by name."""
    QUERIES[f"verify_{check}"].run(conn, job=job)
