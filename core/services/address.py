"""Locks that show who uses the services; the kernel drops them when a process dies (flock(2)).

`users`: every command holds it shared for as long as it needs the services. The keeper tries to get it exclusively;
once it does no user is left, and none can come in while it stops everything.
`start`: held by the one command that looks whether a keeper runs and starts it. `keeper`: held by the keeper.

The address file: what runs, where, under which process ids; readable by its owner only."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from core.roles import CONTROLLER, Login, login_name


class FileLock:
    """One open description of a lock file; closing it, or the end of the process, releases the lock."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_shared(self) -> bool:
        """Return whether the lock is now held together with others."""
        return self._try(fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """Return whether the lock is now held alone. On failure, a shared lock that was held may be lost (flock(2))."""
        return self._try(fcntl.LOCK_EX)

    def _try(self, mode: int) -> bool:
        try:
            fcntl.flock(self._descriptor, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_alone(self, seconds: float) -> bool:
        """Try `try_alone` for so long; return whether it worked."""
        return _until(self.try_alone, seconds)

    def wait_shared(self, seconds: float) -> bool:
        """Try `try_shared` for so long; return whether it worked."""
        return _until(self.try_shared, seconds)

    def release(self) -> None:
        """Release the lock; it can be taken again."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the lock and close the file."""
        os.close(self._descriptor)


def _until(attempt: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not attempt():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_held(path: Path) -> bool:
    """Whether another process holds the lock alone."""
    with contextlib.closing(FileLock(path)) as lock:
        return not lock.try_shared()


SUPERUSER = "edbench"  # of the database servers; only the keeper uses it


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """One PostgreSQL server. It may hold other databases than its own, for instance in tests."""

    name: str  # of the database that it is for
    pid: int
    socket_dir: str
    password: str  # the controller's
    max_connections: int
    log: str
    listen: str = ""  # the address that other hosts reach it at; empty: none does
    port: int = 5432

    def url(self, database: str) -> str:
        """The URL of one of its databases for SQLAlchemy."""
        where = f"host={quote(self.socket_dir, safe='')}&port={self.port}"
        return f"postgresql+psycopg2://{login_name(CONTROLLER)}:{self.password}@/{database}?{where}"

    def remote_url(self, database: str) -> str:
        """The URL for other hosts."""
        return f"postgresql+psycopg2://{login_name(CONTROLLER)}:{self.password}@{in_url(self.listen)}:{self.port}/{database}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAddress:
    """The address and password of the broker."""

    pid: int  # 0: no command has needed one yet
    port: int
    password: str  # the controller's
    log: str
    listen: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """The URL for Celery and redis-py."""
        return f"redis://{login_name(CONTROLLER)}:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def remote_url(self) -> str:
        """The URL for other hosts."""
        return f"redis://{login_name(CONTROLLER)}:{self.password}@{in_url(self.listen)}:{self.port}/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """All services of the keeper: a server for each database, and the broker."""

    keeper: int  # process id
    servers: tuple[ServerAddress, ...]
    broker: BrokerAddress
    logins: tuple[Login, ...]  # of every role

    def server_of(self, database: str) -> ServerAddress:
        """The server that holds, or will hold, this database: the one of that name, else the first."""
        return next((s for s in self.servers if s.name == database), self.servers[0])


def in_url(address: str) -> str:
    """An IP address or name as it is written in a URL."""
    return f"[{address}]" if ":" in address else address


def write_private(path: Path, text: str) -> None:
    """Write a 0600 file completely or not at all."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(text)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def write_addresses(path: Path, addresses: Addresses) -> None:
    """Publish the addresses in one step; replaces the old file. Raises OSError."""
    write_private(path, json.dumps(dataclasses.asdict(addresses), indent=1) + "\n")


def read_addresses(path: Path) -> Addresses | None:
    """The published addresses; None if there are none, or the file was not written by a keeper of this version."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Addresses(
            keeper=data["keeper"],
            servers=tuple(ServerAddress(**server) for server in data["servers"]),
            broker=BrokerAddress(**data["broker"]),
            logins=tuple(Login(**login) for login in data["logins"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
