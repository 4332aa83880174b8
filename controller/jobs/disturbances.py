"""What happened to a job while it ran that makes its elapsed time no measurement: pauses, suspensions, other workers."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from sqlalchemy import Connection

from controller.jobs.rates import duration
from sql.faces.figures import FIGURES
from sql.workers import LIVE_SECONDS

PAUSED, SUSPENDED, WORKERS_CHANGED = "PAUSED", "SUSPENDED", "WORKERS CHANGED"
_AGAIN = "run it again to measure"


def disturbances(conn: Connection, job: uuid.UUID) -> list[str]:
    """A label for each kind, what it means and what to do; empty when nothing happened. A requeued job's rest between
    its end and its going on is no pause."""
    stops = FIGURES.stops_of_job(conn, job=job)
    paused = sum(stop.seconds for stop in stops if stop.state == "paused")
    suspended = [stop for stop in stops if stop.state == "suspended"]
    labels = []
    if paused:
        labels.append(f"{PAUSED} for {duration(paused)}, subtracted from elapsed; caches had time to change: {_AGAIN}")
    if suspended:
        lost = duration(sum(stop.seconds for stop in suspended))
        labels.append(f"{SUSPENDED} for {lost}, included in elapsed ({suspended[-1].reason}): fix that, {_AGAIN}")
    return [*labels, *_workers_changed(conn, job)]


def _workers_changed(conn: Connection, job: uuid.UUID) -> Sequence[str]:
    row = FIGURES.workers_changed(conn, job=job, seconds=LIVE_SECONDS)
    if row.planned and row.worked > row.planned:
        return [
            f"{WORKERS_CHANGED}: {row.worked} workers ran its tasks, not the {row.planned} that it started with: {_AGAIN}"
        ]
    if row.lost:
        return [f"{WORKERS_CHANGED}: {row.lost} workers left before its end: {_AGAIN}"]
    return []
