"""The keeper: a process of its own that starts the services, keeps them up and stops them after the last user.

`python -m core.services.keeper SCRATCH SLOTS LISTEN BROKER DATABASE…`, started by `core.services.embedded`: one PostgreSQL
server for each database. LISTEN: an address of this host at which other hosts reach them; empty: none does. BROKER: empty where
whoever starts it needs none; it is started when another command asks for it. It says one line of JSON on standard output: `{"ready": true}`, or `{"error": <class>, "text": <line>}`. It is the leader of its own session, so Ctrl-C in a terminal does not reach it, and the services ask the
kernel to be ended when it dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from core.errors import EdbenchError, SystemFault
from core.program.stopping import Stop
from core.roles import PROVISIONER, ROLES, Login
from core.services.address import Addresses, read_addresses, write_addresses
from core.services.broker import BrokerServer
from core.services.locks import FileLock
from core.services.logs import trim
from core.services.place import Home, remove_socket_dir, scratch_error
from core.services.postgres import PostgresServer
from core.services.postgres_settings import connections_for

TEND_SECONDS = 0.1
_LOCK_SECONDS = 30.0  # for a predecessor to finish stopping
_BACKOFF_SECONDS = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)  # between starts of one service that keeps dying
_CALM_SECONDS = 30.0  # after which a death counts as the first again


class Keeper:
    """Runs the services of one scratch directory until nobody uses them."""

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
        """Signal handler: end in good order at the next turn."""
        self._stopping = True

    def open(self) -> None:
        """Start everything and publish the addresses. Raises EdbenchError; what was started is stopped again."""
        stale = read_addresses(self._home.address_file)
        for server in stale.servers if stale else ():
            remove_socket_dir(Path(server.socket_dir))
        for request in (self._home.broker_request, self._home.provisioner_request):
            with contextlib.suppress(OSError):
                request.unlink()  # of another keeper's life
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
        """Start the broker when a command that needs one has come. One that does not start is said in the log, and asked for
        again by whoever waits for it."""
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
        """Start it when an experiment has come that needs databases for its runs."""
        if self._provisioning is not None or not self._has_broker or not self._home.provisioner_request.exists():
            return
        from core.services.provisioner import Provisioner, client_of  # few need it, and it brings the broker's client

        servers = [server.superuser() for server in self._servers]
        client = client_of(self._provisioner.into(self._broker.address().url))
        part = Provisioner(servers, client, self._provisions)
        self._provisioning = threading.Thread(target=part.run, name="provisioner", daemon=True)
        self._provisioning.start()

    def _publish(self) -> None:
        addresses = Addresses(
            keeper=os.getpid(),
            servers=tuple(server.address() for server in self._servers),
            broker=self._broker.address(),
            logins=self._logins,
        )
        try:
            write_addresses(self._home.address_file, addresses)
        except OSError as error:
            raise scratch_error(self._home.scratch, error) from error

    def keep(self, users: FileLock) -> None:
        """Tend the services until the lock of the users can be had alone, or a signal says stop."""
        theirs = [*(server.address().log for server in self._servers), self._broker.address().log]
        logs = [self._home.keeper_log, *map(Path, theirs)]
        while not self._stopping and not users.try_alone():
            self._add_broker()
            self._add_provisioner()
            started = [service.tend() for service in self._tended]  # a list: every one gets its turn
            for log in logs:
                trim(log)
            if any(started):
                try:
                    self._publish()
                except EdbenchError as error:  # the services run all the same; the file has old process ids
                    _say(str(error))
            time.sleep(TEND_SECONDS)

    def close(self) -> None:
        """Stop everything; no address is left behind."""
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
    """One service and how often it died lately; it is started again for as long as somebody needs it."""

    service: PostgresServer | BrokerServer
    deaths: int = 0
    last_start: float = 0.0
    next_start: float = 0.0

    def tend(self) -> bool:
        """Start it again when it died and is due; whether it was started."""
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
    """To whoever started us, who may be gone already; then let go of the pipe."""
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
