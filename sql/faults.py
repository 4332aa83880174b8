"""What a driver error means for the work: the one place where psycopg2's errors become ours."""

from __future__ import annotations

import sys

import psycopg2

from core.errors import DatabaseFault


def driver_errors() -> tuple[type[Exception], ...]:
    """What the driver raises, and SQLAlchemy where it is used: to import it, for nothing, would take a command's start."""
    wrapping = sys.modules.get("sqlalchemy.exc")
    return (psycopg2.Error,) if wrapping is None else (wrapping.SQLAlchemyError, psycopg2.Error)


# SQLSTATE → what to tell, whether a retry may help. https://www.postgresql.org/docs/current/errcodes-appendix.html
_BY_STATE: dict[str, tuple[str, bool]] = {
    "53100": ("its disk is full; free space there", False),
    "53200": ("it is out of memory; give the server more", False),
    "53300": ("it has no connection left; raise its max_connections or run fewer slots", True),
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


def _driver_error(error: BaseException) -> psycopg2.Error | None:
    below = getattr(error, "orig", error)  # what SQLAlchemy wraps
    return below if isinstance(below, psycopg2.Error) else None


def _no_connection_free(error: BaseException) -> bool:
    wrapping = sys.modules.get("sqlalchemy.exc")
    return wrapping is not None and isinstance(error, wrapping.TimeoutError)


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
    if closed or isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError):
        return "it cannot be reached", True
    return None


def fault_of(database: str, error: BaseException, *, closed: bool = False) -> DatabaseFault | None:
    """The fault that `error` amounts to, or None when it is the statement's own (a bug, a constraint).

    `closed`: the driver's connection is known to be gone, whatever the error says.
    """
    if _no_connection_free(error):
        return DatabaseFault(f"database {database}: no free connection in this process", transient=True)
    driver = _driver_error(error)
    meaning = _meaning(driver, closed) if driver is not None else None
    if driver is None or meaning is None:
        return None
    return DatabaseFault(f"database {database}: {meaning[0]} ({_one_line(driver)})", transient=meaning[1])
