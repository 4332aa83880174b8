"""A connection that is kept: it holds advisory locks, listens, and writes only while it lives."""

from __future__ import annotations

import contextlib
import re
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.errors import DatabaseFault
from core.moments import reached
from sql.faults import driver_errors, fault_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

_CHANNEL = re.compile(r"[a-z_]{1,63}")


class HeldConnection:
    """Made by `Database.listen`. Every method raises DatabaseFault; after that it is of no use any more."""

    def __init__(self, database: str, conn: Connection, timer: Callable[[int], None] | None = None) -> None:
        """`timer` gets the nanoseconds of each transaction."""
        self._database = database
        self._timer = timer
        self._conn = conn
        self._raw: Any = conn.connection.dbapi_connection

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction on this very connection; see `Database.transaction`."""
        began = time.perf_counter_ns()
        try:
            with self._translated(), self._conn.begin():
                if durable:
                    self._conn.exec_driver_sql("SET LOCAL synchronous_commit = on")
                yield self._conn
                reached("commit")
            reached("committed")
        finally:
            if self._timer is not None:
                self._timer(time.perf_counter_ns() - began)

    def try_lock(self, key: int) -> bool:
        """Take the advisory lock `key` for as long as this connection lives; False if another session has it."""
        with self.transaction() as conn:
            return bool(conn.exec_driver_sql("SELECT pg_try_advisory_lock(%(key)s)", {"key": key}).scalar_one())

    def subscribe(self, channel: str) -> None:
        """LISTEN on a channel (a plain identifier)."""
        if not _CHANNEL.fullmatch(channel):
            raise ValueError(f"not a channel name: {channel!r}")
        with self.transaction() as conn:
            conn.exec_driver_sql(f"LISTEN {channel}")

    def wait(self, seconds: float) -> bool:
        """Until a notification comes or the time is over; whether one came. Forgets those it saw."""
        with self._translated():
            if not self._raw.notifies:
                ready, _, _ = select.select([self._raw], [], [], max(0.0, seconds))
                if ready:
                    self._raw.poll()
            came = bool(self._raw.notifies)
            self._raw.notifies.clear()
            return came

    def close(self) -> None:
        """Give up the connection and with it the locks; quiet when it is dead already."""
        with contextlib.suppress(*driver_errors()):
            if self._raw.closed:  # `wait` found it dead behind the pool's back, which would log that it cannot be reset
                self._conn.invalidate()
            self._conn.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except driver_errors() as error:
            fault: DatabaseFault | None = fault_of(self._database, error, closed=bool(self._raw.closed))
            if fault is None:
                raise
            raise fault from error
