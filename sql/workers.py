"""The registry of worker processes; a worker is live while it was seen lately and has not left."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sql.face import QUERIES

if TYPE_CHECKING:
    from sqlalchemy import Connection


def now(conn: Connection) -> float:
    """The database's clock, seconds since the epoch."""
    return float(QUERIES["database_clock"].run(conn).scalar_one())


def fresh_terms(conn: Connection, *, stepped: bool = False) -> int:
    """Give a whole term from now to deadlines and leases that were set by another clock than today's; how many.

    `stepped`: the clock was put forward or back just now, so that what seems to have run out may not have.
    """
    return QUERIES["fresh_terms"].run(conn, stepped=stepped).rowcount


def stepped(conn: Connection, by: float, window: float) -> None:
    """Correct for a clock that was put forward (back: negative) `by` seconds within the last `window`: whatever is
    measured from a time noted before that continues as if the clock had not been moved."""
    fresh_terms(conn, stepped=True)
    QUERIES["move_clocks"].run(conn, by=by, window=window)
    QUERIES["unsee_workers"].run(conn)


if TYPE_CHECKING:
    from sqlalchemy import Connection

LIVE_SECONDS = 10.0  # workers say that they live every second or two


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
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
    cpu_seconds: float
    run_queue_seconds: float
    live: bool


def register(
    conn: Connection,
    *,
    incarnation: uuid.UUID,
    name: str,
    host: str,
    pid: int,
    boot_id: str,
    slots: int,
    version: str,
    box: str = "",
) -> None:
    """A worker has started; its slots count from the commit on."""
    QUERIES["register_worker"].run(
        conn,
        incarnation=incarnation,
        name=name,
        host=host,
        pid=pid,
        boot_id=boot_id,
        slots=slots,
        version=version,
        box=box,
    )
    QUERIES["notify"].run(conn)  # there may be tasks waiting for a window


def seen(
    conn: Connection,
    incarnation: uuid.UUID,
    cpu_seconds: float,
    run_queue_seconds: float,
    waiting: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Record a sign of life, with CPU and run-queue seconds of all its processes since it started; `waiting`: what its
    slots have been doing for long, each with `job` and `text`."""
    QUERIES["worker_seen"].run(
        conn,
        incarnation=incarnation,
        cpu_seconds=cpu_seconds,
        run_queue_seconds=run_queue_seconds,
        waiting=json.dumps(list(waiting)),
    )


def waits(conn: Connection, job: uuid.UUID) -> list[str]:
    """What slots of live workers have been doing for this job for so long that it is to be reported."""
    return list(QUERIES["worker_waits"].run(conn, job=str(job), seconds=LIVE_SECONDS).scalars())


def stopped(conn: Connection, incarnation: uuid.UUID) -> None:
    """It leaves in good order; its slots do not count any more."""
    QUERIES["worker_stopped"].run(conn, incarnation=incarnation)


def reporter_died(conn: Connection, incarnation: uuid.UUID) -> None:
    """Record that another reporter continues under a new incarnation; calls of the last frame may be missing."""
    QUERIES["reporter_died"].run(conn, incarnation=incarnation)


def live_slots(conn: Connection) -> int:
    """Slots of all live workers."""
    return int(QUERIES["live_slots"].run(conn, seconds=LIVE_SECONDS).scalar_one())


def live_hosts(conn: Connection) -> set[tuple[str, str]]:
    """Host name and boot id of every live worker."""
    return {(row.host, row.boot_id) for row in QUERIES["live_hosts"].run(conn, seconds=LIVE_SECONDS)}


def note_storage(conn: Connection, path: str, kind: str, source: str, token: str) -> None:
    """Note which storage the controller has at a storage root."""
    QUERIES["note_storage"].run(conn, path=path, kind=kind, source=source, token=token)


def noted_storage(conn: Connection, path: str) -> tuple[str, str, str] | None:
    """Type, source and token of it; None where no controller has noted any."""
    row = QUERIES["noted_storage"].run(conn, path=path).one_or_none()
    return None if row is None else (row.kind, row.source, row.token)


def note_outage(conn: Connection, seconds: float) -> None:
    """Note that this database could not be reached for so long, until now."""
    QUERIES["note_outage"].run(conn, seconds=seconds)


def connections_of(conn: Connection, application: str) -> int:
    """How many there are, by the name that they call themselves."""
    return int(QUERIES["connections_of"].run(conn, application=application).scalar_one())


def list_workers(conn: Connection) -> list[WorkerRow]:
    """Every incarnation, newest first."""
    return [WorkerRow(**row._asdict()) for row in QUERIES["list_workers"].run(conn, seconds=LIVE_SECONDS)]
