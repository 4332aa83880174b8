"""The keeper: a process of its own that starts the services, keeps them up and stops them after the last user.

`python -m core.services.keeper SCRATCH SLOTS LISTEN BROKER DATABASE…`, started by `core.services.embedded`: one
PostgreSQL server for each database. LISTEN: an address of this host at which other hosts reach them; empty: none does.
BROKER: empty where the command that starts it needs none; it is started when another command requires it. It prints one
line of JSON on standard output: `{"ready": true}`, or `{"error": <class>, "text": <line>}`. It is the leader of its own
session, so Ctrl-C in a terminal does not reach it, and the services ask the kernel to be ended when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from core.errors import BrokerFault, EdbenchError, StorageFault, SystemFault, system_errors
from core.program import Stop
from core.roles import CONTROLLER, PROVISIONER, ROLES, Login, login_name
from core.services.address import Addresses, BrokerAddress, FileLock, read_addresses, write_addresses, write_private
from core.services.binaries import valkey_server
from core.services.keyring import digest, user_lines
from core.services.place import Home, remove_socket_dir, scratch_errors
from core.services.postgres import LOOPBACK, PostgresServer, connections_for, free_port
from core.services.process import Server, last_line, rotate, spawn, trim

START_SECONDS = 20.0
_ATTEMPTS = 5  # another port each


class BrokerServer(Server):
    """The broker of the keeper. The port and the passwords stay the same when it is started again, empty."""

    STOP = ((signal.SIGTERM, 5.0),)

    def __init__(self, home: Home, max_clients: int, logins: Sequence[Login], listen: str) -> None:
        """Choose its directory. `listen`: an address of this host at which it listens in addition to loopback; empty:
        only loopback."""
        self._listen = listen or LOOPBACK
        self._directory = home.directory / "broker"
        self._log = home.logs / "broker.log"
        self._max_clients = max_clients
        self._port = 0
        self._logins = logins
        self._own = Login(role="keeper", password=secrets.token_hex(24))

    def address(self) -> BrokerAddress:
        """The address at which it listens."""
        password = next(login.password for login in self._logins if login.role == CONTROLLER)
        return BrokerAddress(pid=self.pid, port=self._port, password=password, log=str(self._log), listen=self._listen)

    def begin(self) -> None:
        """Start it on a free port. Raises StorageFault or BrokerFault."""
        rotate(self._log)
        self._port = free_port(self._listen)
        with system_errors(StorageFault, f"cannot write to {self._directory}"):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            self._write_config()
        self._spawn()

    def open(self) -> None:
        """Wait until it answers; if it does not, try another port. Raises as `begin`."""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self.begin()
            if self._wait():
                return
        raise BrokerFault(f"the broker did not start: {last_line(self._log) or 'no output'}; see {self._log}")

    def _write_config(self) -> None:
        """Write a private file, because every user can read a command line."""
        write_private(self._directory / "login", f"{self._own}\n")  # see core.services.embedded
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
        (self._directory / "dump.rdb").unlink(missing_ok=True)  # no message of an earlier start may be loaded
        self._process = spawn(
            [valkey_server(), self._directory / "valkey.conf"],
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            log=self._log,
            cwd=Path("/"),
        )

    def _wait(self) -> bool:
        deadline = time.monotonic() + START_SECONDS
        while not self.ended() and time.monotonic() < deadline:
            if answers(self._port, self._own):
                return True
            time.sleep(0.01)
        self.close()
        return False


def _quoted(path: Path) -> str:
    """A path as valkey.conf takes it: special bytes are written in hexadecimal."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return '"' + "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in os.fsencode(path)) + '"'


def answers(port: int, login: Login) -> bool:
    """Whether a broker that accepts this login listens there."""
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


TEND_SECONDS = 0.25
_LOCK_SECONDS = 30.0  # for an earlier keeper to finish stopping
_BACKOFF_SECONDS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)  # between starts of one service that keeps dying
_CALM_SECONDS = 30.0  # after which a death counts as the first again


class Keeper:
    """Runs the services of one scratch directory until no process uses them."""

    def __init__(self, home: Home, slots: int, listen: str, databases: Sequence[str], *, broker: bool) -> None:
        self._home = home
        self._stopping = False
        connections = connections_for(slots)
        self._logins = tuple(Login(role=role, password=secrets.token_hex(24)) for role in ROLES)
        self._servers = [PostgresServer(name, home, connections, self._logins, listen) for name in databases]
        self._provisioner = Login(role=PROVISIONER, password=secrets.token_hex(24))
        self._provisions = Stop()
        self._provisioning: threading.Thread | None = None
        self._broker = BrokerServer(home, 4 * connections, [*self._logins, self._provisioner], listen)
        self._has_broker = broker
        self._tended = [Tended(server) for server in self._servers]
        if broker:
            self._tended.append(Tended(self._broker))

    def ask_to_stop(self, signum: int, frame: FrameType | None) -> None:
        """Signal handler: stop the services at the next turn."""
        self._stopping = True

    def open(self) -> None:
        """Start everything and publish the addresses. Raises EdbenchError, after it stopped what was started."""
        stale = read_addresses(self._home.address_file)
        for server in stale.servers if stale else ():
            remove_socket_dir(Path(server.socket_dir))
        for request in (self._home.broker_request, self._home.provisioner_request):
            with contextlib.suppress(OSError):
                request.unlink()  # left by an earlier keeper
        try:
            for service in self._tended:  # all of them come up at the same time
                service.service.begin()
            for service in self._tended:
                service.service.open()
            self._publish()
        except BaseException:
            self.close()
            raise

    def _add_broker(self) -> None:
        """Start the broker if a command has requested it. A failure is logged; the command that waits for the broker
        requests it again."""
        if self._has_broker or not self._home.broker_request.exists():
            return
        try:
            self._home.broker_request.unlink(missing_ok=True)
            self._broker.begin()
            self._broker.open()
            self._publish()
        except (EdbenchError, OSError) as error:
            self._broker.close()
            _say(str(error))
        else:
            self._has_broker = True
            self._tended.append(Tended(self._broker))

    def _add_provisioner(self) -> None:
        """Start the provisioner if an experiment that needs databases for its runs has requested it."""
        if self._provisioning is not None or not self._has_broker or not self._home.provisioner_request.exists():
            return
        from core.services.provisioner import client_of, provision  # few need it, and it brings the broker's client

        servers = [{"dbname": "postgres", **server.superuser()} for server in self._servers]
        client = client_of(self._provisioner.into(self._broker.address().url))
        how = (servers, client, self._provisions)
        self._provisioning = threading.Thread(target=provision, args=how, name="provisioner", daemon=True)
        self._provisioning.start()

    def _publish(self) -> None:
        addresses = Addresses(
            keeper=os.getpid(),
            servers=tuple(server.address() for server in self._servers),
            broker=self._broker.address(),
            logins=self._logins,
        )
        with scratch_errors(self._home.scratch):
            write_addresses(self._home.address_file, addresses)

    def keep(self, users: FileLock) -> None:
        """Tend the services until the lock of the users can be taken exclusively, or a signal requests the stop."""
        theirs = [*(server.address().log for server in self._servers), self._broker.address().log]
        logs = [self._home.keeper_log, *map(Path, theirs)]
        while not self._stopping and not users.try_alone():
            self._add_broker()
            self._add_provisioner()
            started = [service.tend() for service in self._tended]  # a list: `any` would stop at the first
            for log in logs:
                trim(log)
            if any(started):
                try:
                    self._publish()
                except EdbenchError as error:  # the services run all the same; the file has old process ids
                    _say(str(error))
            time.sleep(TEND_SECONDS)

    def close(self) -> None:
        """Stop everything and remove the address file."""
        self._provisions.set()
        if self._provisioning is not None:
            self._provisioning.join()
        with contextlib.suppress(FileNotFoundError):
            self._home.address_file.unlink()
        for service in reversed(self._tended):
            service.service.close()
        for server in self._servers:
            remove_socket_dir(Path(server.address().socket_dir))


@dataclass(slots=True)
class Tended:
    """One service with its recent deaths; it is started again as long as a process needs it."""

    service: PostgresServer | BrokerServer
    deaths: int = 0
    last_start: float = 0.0
    next_start: float = 0.0

    def tend(self) -> bool:
        """Start it again if it died and is due; return whether it was started."""
        now = time.monotonic()
        if now < self.next_start:
            return False
        try:
            if not self.service.tend():
                return False
        except OSError as error:
            _say(f"cannot start {type(self.service).__name__}: {error}")
        else:
            _say(f"{type(self.service).__name__} died and was started again as process {self.service.pid}")
        self.deaths = self.deaths + 1 if now - self.last_start < _CALM_SECONDS else 1
        self.last_start = now
        self.next_start = now + _BACKOFF_SECONDS[min(self.deaths, len(_BACKOFF_SECONDS) - 1)]
        return True


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n")
    sys.stderr.flush()


def _report(message: dict[str, object]) -> None:
    """Report to the process that started us, which may have ended; then close the pipe."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def main(arguments: list[str]) -> int:
    """Entry point; see the module's text."""
    home, slots = Home(Path(arguments[0])), int(arguments[1])
    keeper = Keeper(home, slots, arguments[2], arguments[4:], broker=bool(arguments[3]))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, keeper.ask_to_stop)
    alone, users = FileLock(home.lock("keeper")), FileLock(home.lock("users"))
    try:
        if not alone.wait_alone(_LOCK_SECONDS):
            raise SystemFault(f"another keeper holds {home.lock('keeper')} and does not stop")
        keeper.open()
    except EdbenchError as error:
        _say(str(error))
        _report({"error": type(error).__name__, "text": str(error)})
        return 1
    _report({"ready": True})
    try:
        keeper.keep(users)
    finally:
        keeper.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
