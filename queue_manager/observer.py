"""Observes a database and its jobs once a second while a job is not at rest (kinds queue, progress and database).

In a thread and on a connection of its own: whatever goes wrong here, tasks are dispatched as before.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection

from core.errors import DatabaseFault
from core.records import Phase, TaskState
from queue_manager.metrics import DatabaseNumbers, QueueSample
from sql.faces.observing import OBSERVING
from sql.faults import driver_errors
from sql.session import Database

EVERY_SECONDS = 1.0
COUNTED_A_SECOND = 60_000  # rows, at 0.3 to 0.5 µs each: a kind of look may take a thirtieth of a processor
WAITS = 3  # times as long as the last look took, at least: where the server itself is slow
_SIZE_SECONDS = 30.0  # how often the database is asked for its size
_TIMEOUT_MS = 20_000
_LAST_SECONDS = 3.0  # that the end waits for the last look

log = logging.getLogger(__name__)


def _faults() -> tuple[type[Exception], ...]:
    return DatabaseFault, *driver_errors()


class Paced:
    """Something that is done once a second, or less often when it has much to count.

    It goes by rows and not by time: on a machine whose processors are all busy a look that costs nothing takes long.
    """

    def __init__(
        self,
        look: Callable[[Connection, Sequence[uuid.UUID]], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` gives the number of rows that it counted."""
        self._look = look
        self._monotonic = monotonic
        self._due = 0.0

    def look(self, conn: Connection, jobs: Sequence[uuid.UUID], *, anyway: bool) -> None:
        """Do it if it is due, or `anyway`."""
        began = self._monotonic()
        if began < self._due and not anyway:
            return
        counted = self._look(conn, jobs)
        took = self._monotonic() - began
        wait = max(counted / COUNTED_A_SECOND, WAITS * took)
        self._due = began + wait if wait > EVERY_SECONDS else 0.0


class Observer:
    """The looks at one database. `numbers` get what Prometheus is told of it."""

    def __init__(self, database: Database, numbers: DatabaseNumbers) -> None:
        self._database = database
        self._numbers = numbers
        self._size_due = 0.0
        self._queue, self._progress = Paced(self._observe_queue), Paced(self._observe_progress)
        self._fault = ""
        self._open: set[uuid.UUID] = set()  # jobs that were not at rest when they were looked at last

    def look(self) -> None:
        """Once, if a job is not at rest, or has only just come to it: its last state is observed too.

        A fault of the database is told once, and tried again at the next look.
        """
        try:
            with self._database.transaction() as conn:
                conn.exec_driver_sql(f"SET LOCAL statement_timeout = {_TIMEOUT_MS}")
                self._observe(conn)
        except _faults() as error:
            fault = " ".join(str(error).split())[:300]
            if fault != self._fault:
                log.warning("database %s cannot be observed: %s", self._database.name, fault)
            self._fault = fault
        else:
            self._fault = ""

    def _observe(self, conn: Connection) -> None:
        rows = OBSERVING.jobs_to_observe(conn, open=list(self._open))
        if not rows:
            self._numbers.queue = ()
            return
        jobs = sorted(row.id for row in rows)
        ending = any(row.at_rest for row in rows)
        self._observe_database(conn)
        self._queue.look(conn, jobs, anyway=ending)
        self._progress.look(conn, jobs, anyway=ending)
        self._open = {row.id for row in rows if not row.at_rest}

    def _observe_database(self, conn: Connection) -> None:
        now = time.monotonic()
        size = now >= self._size_due
        self._size_due = now + _SIZE_SECONDS if size else self._size_due
        self._numbers.server = OBSERVING.observe_database(conn, database=self._database.name, size=size)

    def _observe_queue(self, conn: Connection, jobs: Sequence[uuid.UUID]) -> int:
        rows = OBSERVING.observe_queue(conn, database=self._database.name, jobs=jobs)
        self._numbers.queue = [
            QueueSample(
                phase=Phase(str(row["phase"])),
                tasks={state: int(row[state.value]) for state in TaskState if state.value in row},
                oldest_pending_seconds=float(row["oldest_pending_s"]),
            )
            for row in rows
        ]
        return sum(sum(sample.tasks.values()) for sample in self._numbers.queue)

    def _observe_progress(self, conn: Connection, jobs: Sequence[uuid.UUID]) -> int:
        return sum(OBSERVING.observe_progress(conn, database=self._database.name, jobs=jobs))


@contextmanager
def observing(database: Database, numbers: DatabaseNumbers) -> Iterator[None]:
    """Observe in a thread while the block lasts and this queue manager is the active one; a last look at its end."""
    own = Database(database.name, database.url, application="edbench observer", pool_size=1)
    stop, observer = threading.Event(), Observer(own, numbers)

    def run() -> None:
        active = False
        while not stop.wait(_until_middle(time.time())):
            active = numbers.active
            if active:
                observer.look()
        if active:
            observer.look()
        own.dispose()

    thread = threading.Thread(target=run, name=f"observer {database.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_LAST_SECONDS)


def _until_middle(now: float) -> float:
    """Seconds to the middle of the next second: there, no two looks fall into one and none into no second."""
    return EVERY_SECONDS - (now - 0.5) % EVERY_SECONDS
