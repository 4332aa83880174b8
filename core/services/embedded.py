"""Use of the embedded services: the first command starts them, others attach, the last one stops them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import core
from core import errors
from core.errors import BrokerFault, DatabaseFault, EdbenchError, SystemFault, UsageError
from core.plain import natural
from core.roles import WORKER
from core.services.address import Addresses, FileLock, ServerAddress, is_held, read_addresses
from core.services.place import Home, scratch_errors
from core.services.postgres import connections_for
from core.services.process import last_line, open_log, rotate
from core.settings import DatabaseAddress, Settings

ATTACH_SECONDS = 180.0  # a predecessor stopping, or another command starting them
LEAVE_SECONDS = 90.0
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The requested services, as the arguments of `embedded_services`."""

    databases: Sequence[str]
    slots: int
    listen: str
    broker: bool
    meanwhile: Callable[[], object]


@contextlib.contextmanager
def embedded_services(
    settings: Settings,
    *,
    databases: Sequence[str] = ("db1",),
    slots: int,
    listen: str = "",
    broker: bool = True,
    meanwhile: Callable[[], object] = bool,
) -> Iterator[Settings]:
    """Settings with `databases` and `broker` filled in, valid inside the `with`.

    Each database has a server of its own. Those of earlier commands are started again together with the requested ones,
    so that all who use the services know the same databases. Where a running keeper has fewer than are requested, that
    is a UsageError: its users do not know the others; so it is where `listen`, an address of this host at which workers
    of other hosts reach them, is not the running keeper's. Without `broker` none is started, and none is in the
    settings unless another command has one. `slots` is the number of slots, over all workers, that this command is
    going to use; the number of connections the database takes follows from it. `meanwhile` is called where services
    have to be started, while they start. Settings that name databases already are given back as they are. Raises
    UsageError, StorageFault, DatabaseFault or BrokerFault with one line saying what to do."""
    if not settings.embedded:
        if settings.broker is None:
            raise UsageError("EDBENCH_DATABASES is set but EDBENCH_BROKER is not; set it to redis://host:port/0")
        yield settings
        return
    for name in databases:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot name a database; use lower-case letters, digits and _")
    home = Home(settings.scratch)
    home.prepare()
    wanted = _Wanted(databases=databases, slots=slots, listen=listen, broker=broker, meanwhile=meanwhile)
    with _attached(home, wanted) as addresses:
        yield dataclasses.replace(
            settings,
            databases=tuple(DatabaseAddress(name=s.name, url=s.url(s.name)) for s in addresses.servers),
            broker=addresses.broker.url if addresses.broker.pid else None,
            handed=addresses.logins,
        )


def running_services(scratch: Path) -> Addresses | None:
    """Addresses and process ids of the services that run for this scratch directory; None if none do."""
    home = Home(scratch)
    return read_addresses(home.address_file) if _kept(home) else None


def for_other_hosts(settings: Settings) -> Settings:
    """The settings for a worker of another host: databases and broker at the address at which embedded services listen,
    with the workers' login and no other. Raises DatabaseFault if the services have ended."""
    running = running_services(settings.scratch)
    if running is None:
        raise DatabaseFault(
            f"the embedded services of {settings.scratch} have stopped; see {Home(settings.scratch).keeper_log}"
        )
    there = tuple(DatabaseAddress(name=s.name, url=s.remote_url(s.name)) for s in running.servers)
    return dataclasses.replace(settings, databases=there, broker=running.broker.remote_url).for_role(WORKER)


def check_kept(settings: Settings) -> None:
    """Raise DatabaseFault if embedded services have lost their keeper: they ended with it and are not restarted."""
    home = Home(settings.scratch)
    if settings.handed and home.lock("keeper").exists() and not is_held(home.lock("keeper")):
        raise DatabaseFault(
            f"the embedded services of {home.scratch} have stopped, because their keeper was killed; see {home.keeper_log}"
        )


def _kept(home: Home) -> bool:
    return home.lock("keeper").exists() and is_held(home.lock("keeper"))


@contextlib.contextmanager
def _attached(home: Home, wanted: _Wanted) -> Iterator[Addresses]:
    with scratch_errors(home.scratch):
        users = FileLock(home.lock("users"))
    keepers: list[subprocess.Popen[bytes]] = []
    try:
        if not users.wait_shared(ATTACH_SECONDS):
            raise SystemFault(f"the services in {home.scratch} do not stop; see {home.keeper_log}")
        with contextlib.closing(FileLock(home.lock("start"))) as start:
            if not start.wait_alone(ATTACH_SECONDS):
                raise SystemFault(f"another command has been starting the services in {home.scratch} for too long")
            addresses = _join(home, wanted, keepers)
        yield addresses
    finally:
        _leave(home, users, keepers)


def _join(home: Home, wanted: _Wanted, keepers: list[subprocess.Popen[bytes]]) -> Addresses:
    """Addresses of services that answer and hold the databases. An existing keeper may still be starting, or may just
    have been killed, and its database may be recovering: retry until the time is over."""
    deadline = time.monotonic() + ATTACH_SECONDS
    while True:
        if not _kept(home):
            keepers.append(_start_keeper(home, wanted))
        addresses = read_addresses(home.address_file)
        fault: SystemFault = DatabaseFault(f"the embedded services did not start; see {home.keeper_log}")
        if addresses is not None:
            _check_fits(addresses, wanted)
            try:
                for server in addresses.servers:
                    _check_answers(server)
                if not wanted.broker or addresses.broker.pid:
                    return addresses
                home.broker_request.touch()
                fault = BrokerFault(f"the embedded broker did not start; see {home.keeper_log}")
            except DatabaseFault as error:
                fault = error
        if time.monotonic() > deadline:
            raise fault
        time.sleep(0.05)


def _start_keeper(home: Home, wanted: _Wanted) -> subprocess.Popen[bytes]:
    """Start the keeper and wait for its line. It gets no terminal and only one of our pipes, so no process waits for
    it."""
    log = home.keeper_log
    rotate(log)
    names = sorted({*home.databases(), *wanted.databases}, key=natural)
    arguments = [str(home.scratch), str(wanted.slots), wanted.listen, "broker" if wanted.broker else ""]
    with open_log(log) as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "core.services.keeper", *arguments, *names],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=Path(core.__file__).parents[1],
            start_new_session=True,
        )
    assert keeper.stdout is not None
    wanted.meanwhile()
    with keeper.stdout as pipe:
        line = pipe.readline()
    if not line:
        keeper.wait()
        raise SystemFault(f"the services did not start: {last_line(log) or 'their keeper was killed'}; see {log}")
    message = json.loads(line)
    if "error" in message:
        keeper.wait()
        kind = getattr(errors, message["error"], SystemFault)
        raise kind(message["text"]) if issubclass(kind, EdbenchError) else SystemFault(message["text"])
    return keeper


def _check_fits(addresses: Addresses, wanted: _Wanted) -> None:
    """Raise UsageError unless running services offer what is requested."""
    servers, advice = addresses.servers, "set EDBENCH_SCRATCH to another directory"
    allowed = min(server.max_connections for server in servers)
    missing = [name for name in wanted.databases if name not in {server.name for server in servers}]
    if connections_for(wanted.slots) > allowed:
        why, advice = f"allow {allowed} connections, too few for {wanted.slots} slots", "use fewer workers"
    elif wanted.listen and any(server.listen != wanted.listen for server in servers):
        why = f"do not listen at {wanted.listen}"
    elif missing:
        why = f"have no server for database {' and '.join(missing)}"
    else:
        return
    raise UsageError(f"the services that another command started {why}; wait until that command has ended, or {advice}")


def _leave(home: Home, users: FileLock, keepers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Release our shared lock; if no other process has one, wait until the services have ended."""
    users.release()
    deadline = time.monotonic() + LEAVE_SECONDS
    while is_held(home.lock("keeper")) and time.monotonic() < deadline:
        if users.try_shared():  # the keeper is not stopping yet
            alone = users.try_alone()
            users.release()
            if not alone:
                break  # others are still there
        time.sleep(0.02)
    users.close()
    if not is_held(home.lock("keeper")):
        for keeper in keepers:
            keeper.wait()


def _check_answers(server: ServerAddress) -> None:
    """Raise DatabaseFault unless the server lets the controller into its database."""
    import psycopg2  # it comes while the services start

    url = server.url(server.name).replace("+psycopg2", "")
    try:
        psycopg2.connect(url, connect_timeout=30).close()
    except psycopg2.OperationalError as error:
        raise DatabaseFault(f"the embedded database does not answer: {str(error).strip()}; see {server.log}") from error


BROKER_LOGIN = "login"  # the keeper's, in the broker's directory


def broker_keeper_url(scratch: Path) -> str:
    """The URL (redis-py) of the broker with the keeper's login. Raises UsageError if nothing runs."""
    addresses = running_services(scratch)
    if addresses is None:
        raise UsageError(f"no services run for {scratch}")
    login = (Home(scratch).directory / "broker" / BROKER_LOGIN).read_text(encoding="ascii").strip()
    return f"redis://{login}@127.0.0.1:{addresses.broker.port}/0"
