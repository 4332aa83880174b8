"""Clients of a replay: who plays which, when all of them start, what each found. In the caller's transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.errors import SystemFault, TaskLost
from core.records import ClaimedTask, JobState
from sql.face import QUERIES
from sql.findings import OwnFindings
from sql.workers import LIVE_SECONDS

if TYPE_CHECKING:
    from sqlalchemy import Connection

LEAD_SECONDS = 1.5  # between the moment when the last client is ready and the start of all


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayStatus:
    """Progress of a replay. Times are seconds since the epoch by the database's clock."""

    state: JobState
    clients: int
    ready: int
    start: float | None  # of all clients; None until all are ready
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayClient:
    """One client as the database has it. Times are seconds since the epoch by the database's clock."""

    client: int
    host: str  # that plays it, see `host_key`
    worker: str | None
    slot: int | None
    taken: float | None
    ready: float | None
    finished: float | None
    result: dict[str, Any] | None  # replay's, as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Seats:
    """A host with live workers."""

    host: str
    slots: int


def host_key(boot_id: str, name: str) -> str:
    """The key that identifies a host, as `live_seats` builds it; a container is a host of its own."""
    return f"{boot_id}/{name}"


def add_clients(conn: Connection, job: uuid.UUID, hosts: Sequence[str]) -> None:
    """The clients 0, 1, … of a new replay, each with the host that is to play it."""
    QUERIES["insert_replay_clients"].run(conn, job=job, clients=list(range(len(hosts))), hosts=list(hosts))


def take_client(conn: Connection, claimed: ClaimedTask, worker: str, slot: int, host: str) -> int | None:
    """A client for this claim; None when this host has no free one. Make the transaction durable: others count on it.

    Raises SystemFault when an earlier claim of the task had one: a replay that lost a client is not what was
    recorded, and is not gone on with.
    """
    before = QUERIES["taken_by_task"].run(conn, job=claimed.job, task=claimed.id).one_or_none()
    if before is not None and before.token == claimed.token:
        return int(before.client)
    if before is not None:
        raise SystemFault(
            f"client {before.client} of the replay died (worker {before.worker}, slot {before.slot}; see its log),"
            " so the measurement is void; replay again"
        )
    taken = QUERIES["take_replay_client"].run(
        conn, job=claimed.job, task=claimed.id, token=claimed.token, worker=worker, slot=slot, host=host
    )
    client = taken.scalar_one_or_none()
    return None if client is None else int(client)


def ready(conn: Connection, claimed: ClaimedTask) -> None:
    """This claim's client has prepared its part. Make the transaction durable: all others start by it.

    Raises TaskLost when the client is not this claim's.
    """
    if QUERIES["replay_client_ready"].run(conn, job=claimed.job, token=claimed.token).rowcount != 1:
        raise TaskLost(f"task {claimed.id}: claim {claimed.token} has no client of the replay (any more)")


def replay_status(conn: Connection, job: uuid.UUID) -> ReplayStatus | None:
    """The progress of the replay; None when the job is gone."""
    row = QUERIES["replay_standing"].run(conn, job=job, lead=LEAD_SECONDS).one_or_none()
    if row is None:
        return None
    return ReplayStatus(state=JobState(row.state), clients=row.clients, ready=row.ready, start=row.start, now=row.now)


class ReplayFindings(OwnFindings, frozen=True, kw_only=True):
    """What a client found."""

    client: int  # its number
    result: dict[str, Any]

    @property
    def durable(self) -> bool:
        """A replay cannot be continued after a client is lost."""
        return True

    def write(self, conn: Connection, claimed: ClaimedTask) -> None:
        """Set the client's result."""
        result = json.dumps(self.result)
        QUERIES["put_replay_result"].run(conn, job=claimed.job, client=self.client, result=result)


def clients(conn: Connection, job: uuid.UUID) -> list[ReplayClient]:
    """Every client, by number."""
    return [ReplayClient(**row._asdict()) for row in QUERIES["replay_clients"].run(conn, job=job)]


def seats(conn: Connection) -> list[Seats]:
    """Hosts with live workers, the one with the most slots first."""
    return [Seats(**row._asdict()) for row in QUERIES["live_seats"].run(conn, seconds=LIVE_SECONDS)]
