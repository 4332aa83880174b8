"""Measures whether a database answers: one statement a second, on a connection and in a thread of its own.

A database that is frozen, or whose host is, keeps its connections open: no statement fails, all of them wait. So a silence
is measured as time, from the first attempt without an answer to the next answer, and noted there (`outage`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.errors import DatabaseFault
from sql import workers
from sql.session import Database

EVERY_SECONDS = 1.0
SLOW_SECONDS = 5.0  # an answer that takes less may come from a busy host
_LAST_SECONDS = 3.0  # that the end waits for a statement


class Pulse:
    """The silences of one database."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._failing_since: float | None = None  # start of the first attempt that failed

    def beat(self) -> None:
        """One statement; an attempt that fails is part of the silence, which the next answer ends."""
        began = self._monotonic()
        try:
            with self._database.transaction(durable=True) as conn:
                conn.exec_driver_sql("SELECT 1")
                silent = self._monotonic() - (began if self._failing_since is None else self._failing_since)
                if self._failing_since is not None or silent >= SLOW_SECONDS:
                    workers.note_outage(conn, silent)
        except DatabaseFault:  # the manager logs it
            self._failing_since = began if self._failing_since is None else self._failing_since
        else:
            self._failing_since = None


@contextmanager
def measuring(database: Database) -> Iterator[None]:
    """Measure in a thread while the block lasts."""
    own = Database(database.name, database.url, application="edbench pulse", pool_size=1)
    stop, pulse = threading.Event(), Pulse(own)

    def run() -> None:
        while not stop.wait(EVERY_SECONDS):
            pulse.beat()
        own.dispose()

    thread = threading.Thread(target=run, name=f"pulse {database.name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_LAST_SECONDS)
