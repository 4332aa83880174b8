"""Connections to one database by its name. Nothing connects before the first transaction, so a process may fork."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg2
import psycopg2.extensions
from psycopg2.extras import NamedTupleCursor, register_uuid

from core.errors import DatabaseFault, UsageError
from sql.connection import Connection, Plans
from sql.held import HeldConnection, fault_of, in_transaction, translated

P = ParamSpec("P")
R = TypeVar("R")

CONNECT_SECONDS = 5
_LOCAL_SECONDS = 30  # over a socket file: a stopped server refuses at once, and a slow one is on a busy machine
# A peer that vanished without a word is noticed after about 3 + 3 × 2 seconds, on either side.
_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 3, "keepalives_interval": 2, "keepalives_count": 3}
_SERVER_OPTIONS = (
    # The ledger survives losing its last commits (design §3.3), so not waiting for the log is the session's default
    # and costs no statement; durable transactions set it to `on`.
    "-c synchronous_commit=off -c tcp_keepalives_idle=3 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c timezone=UTC"
)


SILENT_SECONDS = 15.0  # inside a transaction; a lease is 30 s


class _Session(psycopg2.extensions.connection):
    """The driver's connection, with its prepared statements; None: it prepares none."""

    plans: Plans | None = None


class _Pool:
    """The connections of this process to one database: at most twice `size` at a time, of which `size` stay open."""

    def __init__(self, database: str, size: int) -> None:
        self.pid = os.getpid()
        self._database = database
        self._size = size
        self._idle: list[Any] = []
        self._room = threading.BoundedSemaphore(2 * size)
        self._closed = False

    @contextmanager
    def connection(self, connect: Callable[[], Any]) -> Iterator[Any]:
        """A connection for the block, made by `connect` if none is idle. Raises DatabaseFault if none becomes free."""
        if not self._room.acquire(timeout=CONNECT_SECONDS):
            raise DatabaseFault(f"database {self._database}: no free connection in this process", transient=True)
        try:
            try:
                raw = self._idle.pop()  # taking and returning are one step each, so that threads may share it
            except IndexError:
                raw = connect()
            try:
                yield raw
            finally:
                if self._closed or len(self._idle) >= self._size:
                    raw.close()
                elif not raw.closed:
                    self._idle.append(raw)
        finally:
            self._room.release()

    def close(self) -> None:
        """Close the idle connections, and the others when they are returned."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


class Database:
    """One database of this installation, by name.

    Nothing connects before the first transaction, and a forked child makes connections of its own, so one object may be
    created before a fork. Errors of the driver are raised as `DatabaseFault` if the system is at fault; others
    propagate unchanged."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        application: str = "edbench",
        pool_size: int = 2,
        timer: Callable[[int], None] | None = None,
        silent_seconds: float | None = None,
        repeats: bool = False,
    ) -> None:
        """Store the address; no connection is made. `repeats`: prepare statements, because those of a task or a look
        are repeated. `timer` gets the nanoseconds of each transaction, from the request for a connection to the end of
        the commit.

        `silent_seconds` is for a process that may be stopped at any moment, as in a paused container: its kernel keeps
        answering for it, and the locks of its open transaction would keep all others waiting for ever. The server
        ends a session that has been silent inside a transaction for so long; its transaction is then rolled back."""
        self.name = name
        self.url = url
        self._application = application
        self._pool_size = pool_size
        self._timer = timer
        self._silent_seconds = silent_seconds
        self._repeats = repeats
        self._pool: _Pool | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Database({self.name!r})"

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        """One transaction: committed at the end of the block, rolled back after an error.

        durable=False: the commit does not wait for the log (a server crash may lose it, whole). Raises
        DatabaseFault."""
        raw = None
        began = time.perf_counter_ns()
        try:
            with self._own_pool().connection(self._connected) as raw, in_transaction(raw, durable=durable) as conn:
                yield conn
        except psycopg2.Error as error:
            fault = fault_of(self.name, error, closed=bool(getattr(raw, "closed", 0)))
            if fault is None:
                raise
            if fault.transient:
                self.dispose()  # the other pooled connections are lost too
            raise fault from error
        finally:
            if self._timer is not None:
                self._timer(time.perf_counter_ns() - began)

    def ask(self, query: Callable[Concatenate[Connection, P], R], *args: P.args, **given: P.kwargs) -> R:
        """Call a query, which must not stream its rows, in a transaction of its own. Raises DatabaseFault."""
        with self.transaction() as conn:
            return query(conn, *args, **given)

    @contextmanager
    def listen(self) -> Iterator[HeldConnection]:
        """A connection of its own, for an advisory lock, LISTEN and transactions that need the lock.

        Raises DatabaseFault; after one, the connection and its lock are lost: leave the block and begin again."""
        with translated(self.name):
            raw = self._connected()
        held = HeldConnection(self.name, raw, self._timer)
        try:
            yield held
        finally:
            held.close()

    def dispose(self) -> None:
        """Close the pooled connections; the next transaction opens new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and pool.pid == os.getpid():
            pool.close()

    def _own_pool(self) -> _Pool:
        """The pool of this process. The pool of a parent is dropped, because its sockets are the parent's."""
        with self._lock:
            if self._pool is None or self._pool.pid != os.getpid():
                self._pool = _Pool(self.name, self._pool_size)
            return self._pool

    def _connected(self) -> Any:
        """Open a connection of the driver. Raises UsageError for an invalid URL, psycopg2.Error."""
        parts = urlsplit(self.url)
        if parts.scheme != "postgresql+psycopg2":
            raise UsageError(f"database {self.name}: its URL must start with postgresql+psycopg2://")
        named = {
            "user": parts.username,
            "password": parts.password,
            "host": parts.hostname,
            "port": parts.port,
            "dbname": parts.path[1:],
        }
        given: dict[str, Any] = {name: unquote(str(value)) for name, value in named.items() if value}
        given |= {name: ",".join(values) for name, values in parse_qs(parts.query).items()}
        by_file = given.get("host", "").startswith("/")
        silent = int(1000 * (self._silent_seconds or 0))
        bound = f"-c idle_in_transaction_session_timeout={silent}" if silent else ""
        if self._repeats:
            bound += " -c plan_cache_mode=force_generic_plan"
        own = {
            "connect_timeout": _LOCAL_SECONDS if by_file else CONNECT_SECONDS,
            "application_name": self._application,
            "options": f"{_SERVER_OPTIONS} {bound} {given.get('options', '')}",
            "tcp_user_timeout": 10_000,  # milliseconds that sent bytes may stay unacknowledged
            **_KEEPALIVES,
        }
        raw = psycopg2.connect(**given | own, connection_factory=_Session, cursor_factory=NamedTupleCursor)
        register_uuid(None, raw)  # type: ignore[no-untyped-call]
        raw.plans = Plans() if self._repeats else None
        return raw
