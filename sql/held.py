"""A held connection: it has advisory locks, listens, and writes only while it lives."""

from __future__ import annotations

import contextlib
import re
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2

from core.errors import DatabaseFault
from core.moments import reached
from sql.connection import Connection

# SQLSTATE → the message, whether a retry may help. https://www.postgresql.org/docs/current/errcodes-appendix.html
_BY_STATE: dict[str, tuple[str, bool]] = {
    "53100": ("its disk is full; free space there", False),
    "53200": ("it is out of memory; give the server more", False),
    "53300": ("all its connections are in use; raise its max_connections or run fewer slots", True),
    "25006": ("it is read-only; connect to a writable server", False),
    "42501": (
        "its login lacks a privilege; run any edbench command as the owner of the tables, which grants it again",
        False,
    ),
    "57P01": ("it is being shut down", True),
    "57P02": ("it is restarting after a crash", True),
    "57P03": ("it does not accept connections yet", True),
    "25P03": ("it closed a transaction that was idle for too long", True),
    "57P05": ("it closed an idle connection", True),
    "40001": ("it could not serialise this transaction", True),
    "40P01": ("it chose this transaction to resolve a deadlock", True),
}
_BY_CLASS: dict[str, tuple[str, bool]] = {
    "08": ("the connection to it failed", True),
    "28": ("it refused the login; check user and password in EDBENCH_DATABASES", False),
    "53": ("it is out of resources; see its log", False),
    "58": ("its own storage failed; see its log", False),
    "XX": ("it reports damage or an internal error; see its log", False),
}
# While connecting there is no SQLSTATE, only libpq's text.
_CONNECT_TEXTS: tuple[tuple[str, str, bool], ...] = (
    ("authentication failed", "it refused the login; check user and password in EDBENCH_DATABASES", False),
    ("no password supplied", "it requires a password; put one into EDBENCH_DATABASES", False),
    ("no pg_hba.conf entry", "it does not accept this host or user; see its pg_hba.conf", False),
    # Transient: another server may have the address for a moment, as when two containers start again at the same time.
    ('FATAL:  database "', "it has no database of this name; check EDBENCH_DATABASES", True),
    ("does not exist", "the user does not exist; check EDBENCH_DATABASES", False),
    ("too many clients", _BY_STATE["53300"][0], True),
    ("remaining connection slots", _BY_STATE["53300"][0], True),
)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _meaning(error: psycopg2.Error, closed: bool) -> tuple[str, bool] | None:
    state = error.pgcode
    if state:
        return _BY_STATE.get(state) or _BY_CLASS.get(state[:2])
    message = str(error)
    for needle, meaning, transient in _CONNECT_TEXTS:
        if needle in message and "No such file" not in message:
            return meaning, transient
    # Without a state, the driver raises a plain DatabaseError if the connection broke, and a subclass for a statement's own error.
    lost = type(error) is psycopg2.DatabaseError or isinstance(
        error, psycopg2.OperationalError | psycopg2.InterfaceError
    )
    if closed or lost:
        return "it cannot be reached; check that it runs, and EDBENCH_DATABASES", True
    return None


def fault_of(database: str, error: psycopg2.Error, *, closed: bool = False) -> DatabaseFault | None:
    """Return the fault that `error` indicates, or None if it is the statement's own (a bug, a constraint).

    `closed`: the driver's connection is known to be lost, whatever the error is."""
    meaning = _meaning(error, closed)
    if meaning is None:
        return None
    return DatabaseFault(f"database {database}: {meaning[0]} ({_one_line(error)})", transient=meaning[1])


@contextmanager
def translated(database: str, raw: Any = None) -> Iterator[None]:
    """Raise the driver's errors in the block, which uses its connection `raw`, as `fault_of` gives them."""
    try:
        yield
    except psycopg2.Error as error:
        fault = fault_of(database, error, closed=bool(getattr(raw, "closed", False)))
        if fault is None:
            raise
        raise fault from error


@contextmanager
def in_transaction(raw: Any, *, durable: bool) -> Iterator[Connection]:
    """A transaction on one of the driver's connections; see `Database.transaction`. Raises psycopg2.Error."""
    conn = Connection(raw)
    try:
        if durable:
            conn.execute("SET LOCAL synchronous_commit = on")
        yield conn
        reached("commit")
        raw.commit()
    except BaseException:
        if not raw.closed:
            with contextlib.suppress(psycopg2.Error):  # the other error shows what is wrong
                raw.rollback()
        if raw.plans is not None:
            raw.plans.forget()
        raise
    reached("committed")


_CHANNEL = re.compile(r"[a-z_]{1,63}")


class HeldConnection:
    """A connection made by `Database.listen`. Every method raises DatabaseFault; after that it is unusable."""

    def __init__(self, database: str, raw: Any, timer: Callable[[int], None] | None = None) -> None:
        """Take over `raw`, a connection of the driver; `timer` gets the nanoseconds of each transaction."""
        self._database = database
        self._timer = timer
        self._raw = raw

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction on this connection; see `Database.transaction`."""
        began = time.perf_counter_ns()
        try:
            with translated(self._database, self._raw), in_transaction(self._raw, durable=durable) as conn:
                yield conn
        finally:
            if self._timer is not None:
                self._timer(time.perf_counter_ns() - began)

    def try_lock(self, key: int) -> bool:
        """Take the advisory lock `key` until the connection ends; return False if another session has it."""
        with self.transaction() as conn:
            return bool(conn.execute("SELECT pg_try_advisory_lock(%(key)s)", {"key": key}).scalar_one())

    def subscribe(self, channel: str) -> None:
        """LISTEN on a channel (a plain identifier)."""
        if not _CHANNEL.fullmatch(channel):
            raise ValueError(f"not a channel name: {channel!r}")
        with self.transaction() as conn:
            conn.execute(f"LISTEN {channel}")

    def wait(self, seconds: float) -> bool:
        """Wait for a notification, at most so long; return whether one came. Notifications are discarded."""
        with translated(self._database, self._raw):
            if not self._raw.notifies:
                ready, _, _ = select.select([self._raw], [], [], max(0.0, seconds))
                if ready:
                    self._raw.poll()
            came = bool(self._raw.notifies)
            self._raw.notifies.clear()
            return came

    def close(self) -> None:
        """Close the connection, which releases its locks; no error if it is lost already."""
        with contextlib.suppress(psycopg2.Error):
            self._raw.close()
