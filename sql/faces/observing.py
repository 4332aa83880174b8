"""What is observed beside the calls: by workers and of hosts, and of a database and its jobs by the queue manager."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sql.face import face

if TYPE_CHECKING:
    from sqlalchemy import Connection


class JobToObserve(NamedTuple):
    """One that is not at rest, or has only just come to it."""

    id: uuid.UUID
    at_rest: bool


class _Observing(Protocol):
    def add_observations(
        self, conn: Connection, *, slack: int, second: str, kind: str, source: str, values: str, taken: str
    ) -> None: ...
    def jobs_to_observe(self, conn: Connection, *, open: Sequence[uuid.UUID]) -> list[JobToObserve]: ...
    def observe_database(self, conn: Connection, *, database: str, size: bool) -> Mapping[str, int]: ...
    def observe_queue(
        self, conn: Connection, *, database: str, jobs: Sequence[uuid.UUID]
    ) -> list[Mapping[str, str | float]]: ...
    def observe_progress(self, conn: Connection, *, database: str, jobs: Sequence[uuid.UUID]) -> list[int]: ...


OBSERVING: _Observing = face(_Observing)
