"""Takes frames from the broker's stream: calls into table `call_second` of the database that has the job, and what else
was observed into every database, so that each has the whole timeline of its jobs.

A frame is deleted from the stream only after every database has committed it, and storing one twice changes nothing, so
broker, databases and collector may each die at any moment. While one database is away, frames wait in the stream for
it. Collectors of one installation may run side by side; all must know all databases."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg2
import redis

from core.errors import DatabaseFault
from core.plain import grouped
from monitoring.aggregate import add_to_steps, columns
from monitoring.broker import FIELD, connect, stream_of
from monitoring.frames import CounterDelta, Frame, decode_frame
from sql.connection import Connection
from sql.session import Database
from sql.timeline import CALLS, OBSERVING, AddedCalls

_SLACK_SECONDS = 5  # that clocks of hosts and databases may differ by where it is asked whether a job runs
_OBSERVED = ("second", "kind", "source", "values", "taken")
_WORKERS = ("incarnation", "sequence", "second", "through")


@dataclass(frozen=True, slots=True)
class JobSecond:
    """Calls of one job in one frame; stored whole, unless they were stored before."""

    job: uuid.UUID
    key: tuple[str, str, int]  # job, incarnation, second
    deltas: Sequence[CounterDelta]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows for table `call_second`."""
        for d in self.deltas:
            counts = (d.calls, d.bytes, d.errors, d.total_ns, d.max_ns, d.histogram.encode())
            yield (*self.key, d.phase.value, int(d.op), *counts)


def job_seconds(frames: Iterable[Frame]) -> list[JobSecond]:
    """Return the calls of each job in each frame."""
    out = []
    for frame in frames:
        by_job = grouped(frame.deltas, lambda delta: delta.job)
        incarnation = str(frame.incarnation)
        out += [JobSecond(job, (str(job), incarnation, frame.second), deltas) for job, deltas in by_job.items()]
    return out


def add_calls(conn: Connection, job_seconds: Sequence[JobSecond]) -> None:
    """Store the calls that are new, in the steps too; the caller holds the lock of collecting."""
    if not job_seconds:
        return
    rows = columns(AddedCalls.__match_args__, [row for part in job_seconds for row in part.rows()])
    new = set(CALLS.add_calls(conn, rows=AddedCalls(**rows)))
    add_to_steps(conn, ((*part.key[::2], part.deltas) for part in job_seconds if part.key in new))


def add_observations(conn: Connection, frames: Iterable[Frame]) -> None:
    """Store the observations of frames, while a job of this database runs."""
    rows = {
        (f.second, o.kind, o.source): (f.second, o.kind, o.source, o.text, _taken(f))
        for f in frames
        for o in f.observations
    }
    if rows:
        OBSERVING.add_observations(conn, slack=_SLACK_SECONDS, **columns(_OBSERVED, list(rows.values())))


def _taken(frame: Frame) -> float:
    """Return the part of its second at which the frame was made; 1.0 if the clock was set back meanwhile."""
    taken = frame.through - frame.second
    return round(taken, 3) if 0 <= taken < 1 else 1.0


def note_workers(conn: Connection, frames: Iterable[Frame]) -> None:
    """Store each worker's latest frame, and how many were lost before it."""
    rows = [(str(f.incarnation), f.sequence, f.second, f.through) for f in frames]
    if rows:
        CALLS.frames_stored(conn, **columns(_WORKERS, rows))


_BATCH = 400  # frames at once
_GATHER_LEAST, _GATHER_MOST = 0.4, 0.8  # seconds after a batch that was not full: workers report at any moment …
_GATHER_A_FRAME = 0.01  # … and the more of them there are, the more is gained by waiting for others
_LOCK = 0x65_64_66_72  # "edfr"; of the transactions that store frames
_BACKOFF_FIRST, _BACKOFF_MOST = 0.2, 5.0  # seconds

log = logging.getLogger(__name__)


class Collector:
    """`run` in a thread until `stop`, or `step` by hand."""

    def __init__(
        self, broker_url: str, databases: Mapping[str, Database], *, block_seconds: float = 1.0, run: str = ""
    ) -> None:
        self._stream = stream_of(run)
        self._client = connect(broker_url, block_seconds=block_seconds)
        self._databases = dict(databases)
        self._block_ms = max(1, int(block_seconds * 1000))
        self._home: dict[uuid.UUID, str] = {}  # job → name of its database
        self._stopping = threading.Event()
        self.frames = 0  # stored
        self.unknown = 0  # deltas dropped because no database has their job (any more)
        self.undecodable = 0  # entries of the stream that were no frames
        self.problem: str | None = None  # why nothing can be collected just now

    def stop(self) -> None:
        """Let `run` end after the batch at hand; callable from any thread."""
        self._stopping.set()

    def run(self) -> None:
        """Collect until `stop`; outlives restarts of broker and databases."""
        delay = _BACKOFF_FIRST
        while not self._stopping.is_set():
            try:
                taken = self.step()
            except (redis.RedisError, OSError) as e:
                problem = f"the broker cannot be reached ({e})"
            except DatabaseFault as e:
                problem = str(e)
            except psycopg2.IntegrityError:
                # A job was deleted between two statements; the next try will not find it.
                self._home.clear()
                continue
            except psycopg2.Error as e:
                problem = f"a database refused a statement ({' '.join(str(e).split())[:300]})"
            else:
                self.problem, delay = None, _BACKOFF_FIRST
                if 0 < taken < _BATCH:
                    self._stopping.wait(min(_GATHER_MOST, max(_GATHER_LEAST, taken * _GATHER_A_FRAME)))
                continue
            if self.problem is None:
                log.warning("storage calls are not collected: %s; retrying", problem)
            self.problem = problem
            self._stopping.wait(delay)
            delay = min(delay * 2, _BACKOFF_MOST)

    def step(self, *, block: bool = True) -> int:
        """Store one batch; returns how many entries it took from the stream, waiting a little for the first.

        Raises redis.RedisError, DatabaseFault, psycopg2.Error; the batch is still in the stream then."""
        reply = self._client.xread({self._stream: "0"}, count=_BATCH, block=self._block_ms if block else None)
        entries = _entries(reply)
        if not entries:
            return 0
        frames: list[Frame] = []
        for _, data in entries:
            try:
                frames.append(decode_frame(data))
            except ValueError:
                self.undecodable += 1
        self._store(frames)
        self._client.xdel(self._stream, *(entry for entry, _ in entries))
        self.frames += len(frames)
        return len(entries)

    def _store(self, received: list[Frame]) -> None:
        frames = list({(f.incarnation, f.second): f for f in received}.values())  # one may have been sent twice
        parts = job_seconds(frames)
        unknown = self._find_homes({part.job for part in parts})
        for name, database in self._databases.items():
            here = [part for part in parts if self._home.get(part.job) == name]
            with database.transaction(durable=True) as conn:
                CALLS.lock_collecting(conn, key=_LOCK)
                add_calls(conn, here)
                add_observations(conn, frames)
                note_workers(conn, frames)
        self.unknown += sum(len(part.deltas) for part in parts if part.job in unknown)

    def _find_homes(self, jobs: set[uuid.UUID]) -> set[uuid.UUID]:
        """Find the databases of jobs; return the jobs that are in none (not remembered: they are rare)."""
        missing = {job for job in jobs if job not in self._home}
        for name, database in self._databases.items():
            if not missing:
                break
            with database.transaction() as conn:
                here = set(CALLS.known_jobs(conn, jobs=list(missing)))
            self._home.update(dict.fromkeys(here, name))
            missing -= here
        return missing


def _entries(reply: Any) -> list[tuple[bytes, bytes]]:
    """(id, data) of an XREAD reply, whichever of the protocol's two versions it came in."""
    streams = reply.values() if isinstance(reply, dict) else [stream for _, stream in reply or ()]
    out: list[tuple[bytes, bytes]] = []
    for stream in streams:
        batches = stream if isinstance(reply, dict) else [stream]
        out += [(entry, fields.get(FIELD, b"")) for batch in batches for entry, fields in batch if fields is not None]
    return out
