"""The registry of worker processes; a worker is live if it was seen lately and has not left."""

from __future__ import annotations

import datetime
import uuid
from typing import NamedTuple, Protocol

from core.services.shared_storage import Identity
from sql.connection import Connection
from sql.interface import QUERIES, implemented

LIVE_SECONDS = 10.0  # workers report every second or two


class NewWorker(NamedTuple):
    """A worker that has just started; the same in every database."""

    incarnation: uuid.UUID
    name: str
    host: str
    pid: int  # of the supervisor
    boot_id: str
    slots: int
    version: str
    box: str = ""  # features that its sandbox lacks, for people (worker.sandbox.lockdown); empty: none


class WorkerRow(NamedTuple):
    """One incarnation of a worker."""

    incarnation: uuid.UUID
    name: str
    host: str
    pid: int
    slots: int
    version: str
    started_at: datetime.datetime
    seen_at: datetime.datetime
    stopped_at: datetime.datetime | None
    live: bool


class HostRow(NamedTuple):
    """A host of live workers; containers of one host differ by name, hosts by boot id."""

    host: str
    boot_id: str


class _Workers(Protocol):
    def database_clock(self, conn: Connection) -> float: ...
    def fresh_terms(self, conn: Connection, *, stepped: bool = False) -> int: ...
    def worker_seen(self, conn: Connection, *, incarnation: uuid.UUID, waiting: str = "[]") -> None: ...
    def worker_waits(self, conn: Connection, *, job: str, seconds: float = LIVE_SECONDS) -> list[str]: ...
    def worker_stopped(self, conn: Connection, *, incarnation: uuid.UUID) -> None: ...
    def reporter_died(self, conn: Connection, *, incarnation: uuid.UUID) -> None: ...
    def live_slots(self, conn: Connection, *, seconds: float = LIVE_SECONDS) -> int: ...
    def idle_slots(self, conn: Connection, *, job: uuid.UUID, phase: str, seconds: float = LIVE_SECONDS) -> int: ...
    def live_hosts(self, conn: Connection, *, seconds: float = LIVE_SECONDS) -> list[HostRow]: ...
    def list_workers(self, conn: Connection, *, seconds: float = LIVE_SECONDS) -> list[WorkerRow]: ...
    def note_storage(self, conn: Connection, *, path: str, storage: Identity) -> None: ...
    def noted_storage(self, conn: Connection, *, path: str) -> Identity | None: ...
    def note_outage(self, conn: Connection, *, seconds: float) -> None: ...
    def connections_of(self, conn: Connection, *, application: str) -> int: ...


WORKERS: _Workers = implemented(_Workers)


def register(conn: Connection, worker: NewWorker) -> None:
    """Register a worker that has started; its slots count from the commit on."""
    QUERIES["register_worker"].run(conn, **worker._asdict())
    QUERIES["notify"].run(conn)  # there may be tasks waiting for a window


def stepped(conn: Connection, by: float, window: float) -> None:
    """Correct for a clock that was put forward (back: negative) `by` seconds within the last `window`: durations from a
    time noted before continue as if the clock had not been moved."""
    WORKERS.fresh_terms(conn, stepped=True)
    QUERIES["move_clocks"].run(conn, by=by, window=window)
    QUERIES["unsee_workers"].run(conn)
