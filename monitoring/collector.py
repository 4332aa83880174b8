"""Takes frames from the broker's stream into table `call_second` of the database that has the job.

A frame is deleted from the stream only after every database has committed it, and storing one twice changes
nothing, so broker, databases and collector may each die at any moment. While one database is away, frames
wait in the stream for it. Collectors of one installation may run side by side; all must know all databases.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import redis
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from core.errors import DatabaseFault
from monitoring.broker import connect
from monitoring.counters import CounterDelta
from monitoring.frames import Frame, decode_frame
from monitoring.sender import FIELD, STREAM
from sql.queries import QUERIES
from sql.session import Database

_BATCH = 200  # frames at once
_LOCK = 0x65_64_66_72  # "edfr"; of the transactions that store frames
_BACKOFF_FIRST, _BACKOFF_MOST = 0.2, 5.0  # seconds

log = logging.getLogger(__name__)


class Collector:
    """`run` in a thread until `stop`, or `step` by hand."""

    def __init__(self, broker_url: str, databases: Mapping[str, Database], *, block_seconds: float = 1.0) -> None:
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
                self.step()
            except (redis.RedisError, OSError) as e:
                problem = f"the broker cannot be reached ({e})"
            except DatabaseFault as e:
                problem = str(e)
            except IntegrityError:
                # A job was deleted between two statements; the next try will not find it.
                self._home.clear()
                continue
            except SQLAlchemyError as e:
                problem = f"a database refused a statement ({' '.join(str(e).split())[:300]})"
            else:
                self.problem, delay = None, _BACKOFF_FIRST
                continue
            if self.problem is None:
                log.warning("storage calls are not being collected: %s; trying again", problem)
            self.problem = problem
            self._stopping.wait(delay)
            delay = min(delay * 2, _BACKOFF_MOST)

    def step(self, *, block: bool = True) -> int:
        """Store one batch; returns how many entries it took from the stream, waiting a little for the first.

        Raises redis.RedisError, DatabaseFault, SQLAlchemyError; the batch is still in the stream then.
        """
        reply = self._client.xread({STREAM: "0"}, count=_BATCH, block=self._block_ms if block else None)
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
        self._client.xdel(STREAM, *(entry for entry, _ in entries))
        self.frames += len(frames)
        return len(entries)

    def _store(self, frames: list[Frame]) -> None:
        unknown = self._find_homes({d.job for f in frames for d in f.deltas})
        for name, database in self._databases.items():
            rows = [_row(f, d) for f in frames for d in f.deltas if self._home.get(d.job) == name]
            with database.transaction(durable=True) as conn:
                QUERIES["lock_collecting"].run(conn, key=_LOCK)
                if rows:
                    QUERIES["add_calls"].run(conn, **_columns(_COLUMNS, rows))
                worker_rows = [(str(f.incarnation), f.sequence, f.through) for f in frames]
                if worker_rows:
                    QUERIES["frames_stored"].run(conn, **_columns(_WORKER_COLUMNS, worker_rows))
        self.unknown += sum(1 for f in frames for d in f.deltas if d.job in unknown)

    def _find_homes(self, jobs: set[uuid.UUID]) -> set[uuid.UUID]:
        """Learn where jobs live; returns those that live nowhere (not remembered: they are rare)."""
        missing = {job for job in jobs if job not in self._home}
        for name, database in self._databases.items():
            if not missing:
                break
            with database.transaction() as conn:
                found = QUERIES["known_jobs"].run(conn, jobs=[str(job) for job in missing]).scalars()
                here = {uuid.UUID(str(job)) for job in found}
            self._home.update(dict.fromkeys(here, name))
            missing -= here
        return missing


_COLUMNS = (
    *("job", "incarnation", "second", "phase", "op", "calls", "bytes", "errors", "total_ns", "max_ns", "histogram"),
)
_WORKER_COLUMNS = ("incarnation", "sequence", "through")


def _row(frame: Frame, delta: CounterDelta) -> tuple[Any, ...]:
    return (
        *(str(delta.job), str(frame.incarnation), frame.second, delta.phase.value, int(delta.op)),
        *(delta.calls, delta.bytes, delta.errors, delta.total_ns, delta.max_ns, delta.histogram.encode()),
    )


def _columns(names: Iterable[str], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def _entries(reply: Any) -> list[tuple[bytes, bytes]]:
    """(id, data) of an XREAD reply, whichever of the protocol's two versions it came in."""
    streams = reply.values() if isinstance(reply, dict) else [found for _, found in reply or ()]
    out: list[tuple[bytes, bytes]] = []
    for found in streams:
        batches = found if isinstance(reply, dict) else [found]
        out += [(entry, fields.get(FIELD, b"")) for batch in batches for entry, fields in batch if fields is not None]
    return out


def start_collector(
    broker_url: str, databases: Mapping[str, Database], on_end: Callable[[], None] | None = None
) -> tuple[Collector, threading.Thread]:
    """A collector running in a thread of its own; call `stop` on the first and `join` on the second."""

    def run() -> None:
        try:
            collector.run()
        finally:
            if on_end is not None:
                on_end()

    collector = Collector(broker_url, databases)
    thread = threading.Thread(target=run, name="collector", daemon=True)
    thread.start()
    return collector, thread
