"""Frames as rows of one database. Hundreds of frames a second come by here: nothing is done for each op twice."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from monitoring.arrays import columns
from monitoring.counters import CounterDelta
from monitoring.frames import Frame
from monitoring.steps import add_to_steps
from sql.faces.calls import CALLS
from sql.faces.observing import OBSERVING

_SLACK_SECONDS = 5  # that clocks of hosts and databases may differ by where it is asked whether a job runs
_CALLS = (
    *("job", "incarnation", "second", "phase", "op", "calls", "bytes", "errors", "total_ns", "max_ns", "histogram"),
)
_OBSERVED = ("second", "kind", "source", "values", "taken")
_WORKERS = ("incarnation", "sequence", "through")


@dataclass(frozen=True, slots=True)
class JobSecond:
    """What one frame has of one job; it is stored whole or was stored before."""

    job: uuid.UUID
    key: tuple[str, str, int]  # job, incarnation, second
    deltas: Sequence[CounterDelta]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """For table `call_second`."""
        for d in self.deltas:
            counts = (d.calls, d.bytes, d.errors, d.total_ns, d.max_ns, d.histogram.encode())
            yield (*self.key, d.phase.value, int(d.op), *counts)


def job_seconds(frames: Iterable[Frame]) -> list[JobSecond]:
    """What frames have of jobs."""
    out = []
    for frame in frames:
        by_job: dict[uuid.UUID, list[CounterDelta]] = {}
        for delta in frame.deltas:
            by_job.setdefault(delta.job, []).append(delta)
        incarnation = str(frame.incarnation)
        out += [JobSecond(job, (str(job), incarnation, frame.second), deltas) for job, deltas in by_job.items()]
    return out


def add_calls(conn: Connection, job_seconds: Sequence[JobSecond]) -> None:
    """Store those that are new, in the steps too; the caller holds the lock of collecting."""
    if not job_seconds:
        return
    new = set(CALLS.add_calls(conn, **columns(_CALLS, [row for part in job_seconds for row in part.rows()])))
    add_to_steps(conn, ((*part.key[::2], part.deltas) for part in job_seconds if part.key in new))


def add_observations(conn: Connection, frames: Iterable[Frame]) -> None:
    """Store what was observed beside the calls, while a job of this database runs."""
    rows = {
        (f.second, o.kind, o.source): (f.second, o.kind, o.source, o.text, _taken(f))
        for f in frames
        for o in f.observations
    }
    if rows:
        OBSERVING.add_observations(conn, slack=_SLACK_SECONDS, **columns(_OBSERVED, list(rows.values())))


def _taken(frame: Frame) -> float:
    """When in its second; its end where the clock was set back meanwhile."""
    taken = frame.through - frame.second
    return round(taken, 3) if 0 <= taken < 1 else 1.0


def note_workers(conn: Connection, frames: Iterable[Frame]) -> None:
    """Each worker's latest frame, and how many were lost before it."""
    rows = [(str(f.incarnation), f.sequence, f.through) for f in frames]
    if rows:
        CALLS.frames_stored(conn, **columns(_WORKERS, rows))
