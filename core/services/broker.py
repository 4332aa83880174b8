"""The embedded broker: one Valkey server that keeps nothing; the ledger survives its loss (design §3)."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from core.errors import BrokerFault, StorageFault
from core.roles import CONTROLLER, Login, login_name
from core.services.address import BrokerAddress, write_private
from core.services.binaries import valkey_server
from core.services.broker_users import digest, user_lines
from core.services.logs import rotate
from core.services.place import Home
from core.services.ports import LOOPBACK, free_port
from core.services.process import last_line, spawn, stop

START_SECONDS = 20.0
_ATTEMPTS = 5  # another port each
_STOP = ((signal.SIGTERM, 5.0),)


class BrokerServer:
    """Belongs to the keeper. The port and the passwords stay the same when it is started again."""

    def __init__(
        self, home: Home, max_clients: int, logins: Sequence[Login], listen: str = "", port: int | None = None
    ) -> None:
        """`listen`: an address of this host that it answers at beside loopback; `port`: None takes one that is free."""
        self._listen = listen or LOOPBACK
        self._fixed = port
        self._directory = home.directory / "broker"
        self._log = home.logs / "broker.log"
        self._max_clients = max_clients
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._logins = logins
        self._own = Login(role="keeper", password=secrets.token_hex(24))

    @property
    def pid(self) -> int:
        """Process id; 0 when it was never started, or is stopped."""
        return self._process.pid if self._process else 0

    def address(self) -> BrokerAddress:
        """Where it listens."""
        password = next(login.password for login in self._logins if login.role == CONTROLLER)
        return BrokerAddress(pid=self.pid, port=self._port, password=password, log=str(self._log), listen=self._listen)

    @property
    def own_url(self) -> str:
        """For redis-py: as the one who may do everything there."""
        return f"redis://{self._own}@{LOOPBACK}:{self._port}/0"

    def begin(self) -> None:
        """Start it on a port that is free. Raises StorageFault or BrokerFault."""
        rotate(self._log)
        self._port = self._fixed or free_port(self._listen)
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            self._write_config()
        except OSError as error:
            raise StorageFault(f"cannot write to {self._directory}: {error.strerror or error}") from error
        self._spawn()

    def open(self) -> None:
        """Wait until it answers; where it does not, another port is tried. Raises as `begin`."""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self.begin()
            if self._wait():
                return
        raise BrokerFault(f"the broker did not start: {last_line(self._log) or 'no output'}; see {self._log}")

    def _write_config(self) -> None:
        """In a private file, because a command line is there for everybody to read."""
        write_private(self._directory / "login", f"{self._own}\n")  # see core.services.keeper_ways
        write_private(
            self._directory / "valkey.conf",
            "\n".join(
                [
                    f"bind {' '.join(dict.fromkeys((LOOPBACK, self._listen)))}",
                    f"port {self._port}",
                    *user_lines(self._logins),
                    f"user {login_name(self._own.role)} on #{digest(self._own)} allkeys allchannels +@all",
                    f"dir {_quoted(self._directory)}",
                    'save ""',
                    "appendonly no",
                    "daemonize no",
                    f"maxclients {self._max_clients}",
                    "maxmemory-policy noeviction",
                    "loglevel notice",
                    'logfile ""',  # to standard output
                    "",
                ]
            ),
        )

    def _spawn(self) -> None:
        (self._directory / "dump.rdb").unlink(missing_ok=True)  # nothing of an earlier life may come back
        self._process = spawn(
            [valkey_server(), self._directory / "valkey.conf"],
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            log=self._log,
            cwd=Path("/"),
        )

    def _wait(self) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while self._process is not None and self._process.poll() is None and time.monotonic() < deadline:
            if answers(self._port, self._own):
                return True
            time.sleep(0.01)
        self.close()
        return False

    def tend(self) -> bool:
        """Start it again, empty, if it died; whether that was needed. Raises OSError."""
        if self._process is not None and self._process.poll() is None:
            return False
        self._spawn()
        return True

    def close(self) -> None:
        """Stop it; what it held is gone."""
        if self._process is not None:
            stop(self._process, _STOP)
            self._process = None


def _quoted(path: Path) -> str:
    """A path as valkey.conf takes it: every byte that is not plain as \\xNN."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return '"' + "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in os.fsencode(path)) + '"'


def answers(port: int, login: Login) -> bool:
    """Whether a broker that knows this login listens there."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2) as connection:
            connection.sendall(f"AUTH {login_name(login.role)} {login.password}\r\nPING\r\n".encode())
            reply = b""
            while reply.count(b"\r\n") < 2:
                got = connection.recv(256)
                if not got:
                    return False
                reply += got
    except OSError:
        return False
    return reply == b"+OK\r\n+PONG\r\n"
