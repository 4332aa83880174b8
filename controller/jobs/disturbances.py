"""What happened to a job while it ran that makes its elapsed time no measurement: pauses, suspensions, outages of its database,
other workers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import Connection

from controller.jobs.rates import duration
from sql.faces.figures import FIGURES
from sql.workers import LIVE_SECONDS

PAUSED, SUSPENDED, WORKERS_CHANGED, DATABASE_AWAY = "PAUSED", "SUSPENDED", "WORKERS CHANGED", "DATABASE AWAY"
_LEAST_AWAY_S = 1.0  # a connection that was lost and made again at once is no outage
_AGAIN = "run it again to measure"


def disturbances(conn: Connection, job: uuid.UUID) -> list[str]:
    """A label for each kind, what it means and what to do; empty when nothing happened. A requeued job's rest between
    its end and its going on is no pause."""
    paused, suspended, reason = _stopped(conn, job)
    labels = []
    if paused:
        labels.append(f"{PAUSED} for {duration(paused)}, subtracted from elapsed; caches had time to change: {_AGAIN}")
    if suspended:
        labels.append(f"{SUSPENDED} for {duration(suspended)}, which elapsed includes ({reason}): fix that, {_AGAIN}")
    away = FIGURES.outages_of_job(conn, job=job)
    if away >= _LEAST_AWAY_S:
        labels.append(f"{DATABASE_AWAY} for {duration(away)}, which elapsed includes: {_AGAIN}")
    return [*labels, *_workers_changed(conn, job)]


def elapsed_note(conn: Connection, job: uuid.UUID) -> str:
    """What was taken off a job's elapsed time and what was not; empty where it did not stop."""
    paused, suspended, _ = _stopped(conn, job)
    off = f"less {duration(paused)} of pauses" if paused else ""
    held = f"with {duration(suspended)} of suspension" if suspended else ""
    return ", ".join(filter(None, (off, held)))


def _stopped(conn: Connection, job: uuid.UUID) -> tuple[float, float, str]:
    """Seconds of pauses, seconds of suspensions, and why it was suspended last."""
    stops = FIGURES.stops_of_job(conn, job=job)
    suspended = [stop for stop in stops if stop.state == "suspended"]
    return (
        sum(stop.seconds for stop in stops if stop.state == "paused"),
        sum(stop.seconds for stop in suspended),
        str(suspended[-1].reason) if suspended else "",
    )


def _workers_changed(conn: Connection, job: uuid.UUID) -> Sequence[str]:
    row = FIGURES.workers_changed(conn, job=job, seconds=LIVE_SECONDS)
    if row.planned and row.worked > row.planned:
        return [
            f"{WORKERS_CHANGED}: {row.worked} workers ran its tasks, not the {row.planned} that it started with: {_AGAIN}"
        ]
    if row.lost:
        return [f"{WORKERS_CHANGED}: {row.lost} left before its end: {_AGAIN}"]
    return []
