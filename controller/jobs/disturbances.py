"""What happened to a job while it ran that makes its elapsed time no measurement: pauses, suspensions, outages of its database,
other workers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import Connection

from controller.jobs.rates import duration
from sql.faces.figures import FIGURES, Stop
from sql.workers import LIVE_SECONDS

PAUSED, SUSPENDED, WORKERS_CHANGED, DATABASE_AWAY = "PAUSED", "SUSPENDED", "WORKERS CHANGED", "DATABASE AWAY"
_LEAST_AWAY_S = 1.0  # a connection that was lost and made again at once is no outage
_AGAIN = "run it again to measure"


def disturbances(conn: Connection, job: uuid.UUID) -> list[str]:
    """A label for each kind, what it means and what to do; empty when nothing happened. The time between a job's end
    and its requeue is no pause."""
    stops = FIGURES.stops_of_job(conn, job=job)
    # Labels are kept for some seconds: they would give another duration than `elapsed_note` while the job is stopped.
    lasting = {stop.state for stop in stops if stop.lasting}
    paused, suspended = _seconds(stops, "paused"), _seconds(stops, "suspended")
    labels = []
    if paused:
        how_long = "" if "paused" in lasting else f" for {duration(paused)}"
        labels.append(f"{PAUSED}{how_long}, subtracted from elapsed; caches had time to change: {_AGAIN}")
    if suspended:
        how_long = "" if "suspended" in lasting else f" for {duration(suspended)}"
        reason = [stop.reason for stop in stops if stop.state == "suspended"][-1]
        labels.append(f"{SUSPENDED}{how_long}, which elapsed includes ({reason}): fix that, {_AGAIN}")
    away = FIGURES.outages_of_job(conn, job=job)
    if away >= _LEAST_AWAY_S:
        labels.append(f"{DATABASE_AWAY} for {duration(away)}, which elapsed includes: {_AGAIN}")
    return [*labels, *_workers_changed(conn, job)]


def elapsed_note(conn: Connection, job: uuid.UUID) -> str:
    """What was taken off a job's elapsed time and what was not; empty where it did not stop."""
    stops = FIGURES.stops_of_job(conn, job=job)
    paused, suspended = _seconds(stops, "paused"), _seconds(stops, "suspended")
    off = f"less {duration(paused)} of pauses" if paused else ""
    held = f"with {duration(suspended)} of suspension" if suspended else ""
    return ", ".join(filter(None, (off, held)))


def _seconds(stops: Sequence[Stop], state: str) -> float:
    return sum(stop.seconds for stop in stops if stop.state == state)


def _workers_changed(conn: Connection, job: uuid.UUID) -> Sequence[str]:
    row = FIGURES.workers_changed(conn, job=job, seconds=LIVE_SECONDS)
    if row.planned and row.worked > row.planned:
        return [
            f"{WORKERS_CHANGED}: {row.worked} workers ran its tasks, not the {row.planned} that it started with: {_AGAIN}"
        ]
    if row.lost:
        return [f"{WORKERS_CHANGED}: {row.lost} left before its end: {_AGAIN}"]
    return []
