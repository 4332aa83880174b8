"""Connections to one database by its name. Nothing connects before the first transaction, so a process may fork."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from core.errors import UsageError
from core.moments import reached
from sql.held import HeldConnection, driver_errors, fault_of

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

CONNECT_SECONDS = 5
_LOCAL_SECONDS = 30  # by a socket file: a server that is gone refuses at once, one that is slow has a busy machine
# A peer that vanished without a word is noticed after about 3 + 3 × 2 seconds, on either side.
_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 3}
_SERVER_OPTIONS = (
    # The ledger survives losing its last commits (design §3.3), so not waiting for the log is the session's default
    # and costs no statement; durable transactions say `on` for themselves.
    "-c synchronous_commit=off -c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c timezone=UTC"
)


SILENT_SECONDS = 15.0  # inside a transaction; a lease is 30 s


class Database:
    """One database of this installation, by name.

    The engine is created on first use and again in a forked child, so one object may be created before a fork.
    Driver errors leave here as `DatabaseFault` when the system is at fault; others propagate as they are.
    """

    def __init__(
        self,
        name: str,
        url: str,
        *,
        application: str = "edbench",
        pool_size: int = 2,
        timer: Callable[[int], None] | None = None,
        silent_seconds: float | None = None,
    ) -> None:
        """`timer` gets the nanoseconds of each transaction, from the request for a connection to the end of the commit.

        `silent_seconds` is for a process that may be stopped at any moment, as in a paused container: its kernel keeps
        answering for it, and the locks of its open transaction would keep all others waiting for ever. The server
        ends a session that has been silent inside a transaction for so long; its transaction is then rolled back.
        """
        self.name = name
        self.url = url
        self._application = application
        self._pool_size = pool_size
        self._timer = timer
        self._silent_seconds = silent_seconds
        self._engine: Engine | None = None
        self._pid = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Database({self.name!r})"

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        """One transaction: committed at the end of the block, rolled back when it raises.

        durable=False: the commit does not wait for the log (a server crash may lose it, whole).
        Raises DatabaseFault.
        """
        raw = None
        began = time.perf_counter_ns()
        try:
            with self._begun() as conn:
                raw = conn.connection.dbapi_connection
                if durable:
                    conn.exec_driver_sql("SET LOCAL synchronous_commit = on")
                yield conn
                reached("commit")
            reached("committed")
        except driver_errors() as error:
            fault = fault_of(self.name, error, closed=bool(getattr(raw, "closed", 0)))
            if fault is None:
                raise
            if fault.transient:
                self.dispose()  # the other pooled connections are as dead as this one
            raise fault from error
        finally:
            if self._timer is not None:
                self._timer(time.perf_counter_ns() - began)

    def _begun(self) -> AbstractContextManager[Connection]:
        """A connection in a transaction."""
        return self.engine().begin()

    @contextmanager
    def listen(self) -> Iterator[HeldConnection]:
        """A connection of its own, for an advisory lock, LISTEN and transactions that need the lock.

        Raises DatabaseFault; after one, the connection and its lock are gone: leave the block and begin again.
        """
        try:
            conn = self.engine().connect()
            conn.detach()
        except driver_errors() as error:
            fault = fault_of(self.name, error)
            if fault is None:
                raise
            raise fault from error
        held = HeldConnection(self.name, conn, self._timer)
        try:
            yield held
        finally:
            held.close()

    def dispose(self) -> None:
        """Close the pooled connections; the next transaction opens new ones."""
        with self._lock:
            engine, self._engine = self._engine, None
            if engine is not None:
                engine.dispose(close=self._pid == os.getpid())

    def engine(self) -> Engine:
        """The engine of this process."""
        with self._lock:
            pid = os.getpid()
            if self._engine is not None and self._pid != pid:
                self._engine.dispose(close=False)  # its sockets belong to the parent
                self._engine = None
            if self._engine is None:
                self._engine = self._make_engine()
                self._pid = pid
            return self._engine

    def _make_engine(self) -> Engine:
        from sqlalchemy import create_engine
        from sqlalchemy.engine import make_url

        url = make_url(self.url)
        if url.drivername != "postgresql+psycopg2":
            raise UsageError(f"database {self.name}: its URL must start with postgresql+psycopg2://")
        own = url.query.get("options", ())
        return create_engine(
            url.difference_update_query(["options"]),
            pool_size=self._pool_size,
            max_overflow=self._pool_size,
            pool_timeout=CONNECT_SECONDS,
            connect_args=self._arguments(own if isinstance(own, str) else " ".join(own))
            | ({"connect_timeout": _LOCAL_SECONDS} if str(url.query.get("host")).startswith("/") else {}),
        )

    def _arguments(self, own: str) -> dict[str, Any]:
        """The driver's arguments for a connection; `own`: options for the server in the URL."""
        silent = int(1000 * (self._silent_seconds or 0))
        bound = f"-c idle_in_transaction_session_timeout={silent}" if silent else ""
        return {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": self._application,
            "options": f"{_SERVER_OPTIONS} {bound} {own}",
            "tcp_user_timeout": 10_000,  # milliseconds that sent bytes may stay unacknowledged
            **_KEEPALIVES,
        }
