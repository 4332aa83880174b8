"""One embedded PostgreSQL server: created with initdb, started, kept, stopped."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import DatabaseFault, StorageFault, SystemFault, UsageError, reading_errors, system_errors
from core.roles import CONTROLLER, WORKER, Login, login_name
from core.services.address import SUPERUSER, ServerAddress, write_private
from core.services.binaries import postgres_for, postgres_version
from core.services.place import Home, give_to, make_socket_dir, postgres_place, refuse_weak_root, server_user
from core.services.process import RunAs, Server, last_line, rotate, spawn

# Permitted logins: over the socket every role with its password, from other hosts only the workers.
ADMISSION = f"local all all scram-sha-256\nhost all {login_name(WORKER)} all scram-sha-256\n"
_SPARE = 50  # connections in addition to the slots': queue manager, workers' supervisors, controller, web UI, people
_LEAST = 200  # a second command with more slots may attach; an unused connection costs next to nothing


def connections_for(slots: int) -> int:
    """`max_connections` for so many slots: two for each, and some spare ones."""
    return max(_LEAST, 2 * slots + _SPARE)


def listening(address: str, port: int, admission: Path) -> dict[str, str]:
    """Settings of a server that other hosts can reach; `admission`: a file with `ADMISSION`."""
    return {"listen_addresses": address, "port": str(port), "hba_file": str(admission)}


def server_arguments(socket_dir: Path, max_connections: int, remote: Mapping[str, str] | None = None) -> list[str]:
    """The command-line settings of the server. `fsync`, `full_page_writes` and `synchronous_commit` keep their safe
    defaults: a crash loses nothing that was committed, except where a transaction chooses weaker settings.

    `afar`: the result of `listening`, for a server that other hosts can reach."""
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(socket_dir),
        "unix_socket_permissions": "0700",
        "max_connections": str(max_connections),
        "password_encryption": "scram-sha-256",
        "scram_iterations": "1",  # more would slow down guessing; these passwords are 192 random bits, new with each keeper
        # memory: modest, the machine's page cache belongs to the files being measured
        "shared_buffers": "256MB",
        "work_mem": "16MB",
        "maintenance_work_mem": "128MB",
        "effective_cache_size": "1GB",
        # no parallel queries: they need /dev/shm, small in containers, and take CPUs from the slots
        "max_parallel_workers_per_gather": "0",
        "max_parallel_maintenance_workers": "0",
        "io_method": "sync",
        "jit": "off",
        "random_page_cost": "1.1",
        # write-ahead log: no replicas, few checkpoints
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_logical_replication_workers": "0",
        "max_wal_size": "2GB",
        "min_wal_size": "256MB",
        "checkpoint_timeout": "15min",
        # one gentle vacuum worker: the ledger's updated rows need it, the measurement does not
        "autovacuum_max_workers": "1",
        "log_timezone": "UTC",
        "timezone": "UTC",
        "lc_messages": "C",
        "log_min_messages": "warning",
        "log_line_prefix": "%m [%p] ",
        "logging_collector": "off",
        "cluster_name": "edbench",
        **(remote or {}),
    }
    return [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]


LOOPBACK = "127.0.0.1"


def free_port(listen: str = LOOPBACK) -> int:
    """A port that is free now, on loopback and at `listen`, and that the kernel gives to no outgoing connection, so
    that it is still free for a server that is started again. Raises SystemFault if there is none, UsageError for an
    address of another host."""
    low, high = _ephemeral_range()
    choices = [port for port in range(10_000, 61_000) if not low <= port <= high] or list(range(20_000, 61_000))
    for _ in range(200):
        port = secrets.choice(choices)
        if all(_is_free(address, port) for address in dict.fromkeys((LOOPBACK, listen))):
            return port
    raise SystemFault(f"no port is free on {LOOPBACK}; is the loopback interface up?")


def _is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and address != LOOPBACK:
                raise UsageError(f"{address} is not an address of this host; `ip address` lists them") from error
            if error.errno == errno.EACCES:
                raise
            return False
    return True


def _ephemeral_range() -> tuple[int, int]:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return 32_768, 60_999
    return int(low), int(high)


_PORT = 5432  # of a socket in a directory of its own
_ADMISSION = "admission.conf"
START_SECONDS = 120.0  # crash recovery of a large log included
_LEFTOVER_SECONDS = 60.0  # how long an earlier server may take to end, on a busy machine …
_HURRY_SECONDS = 5.0  # … and how long it is not killed
_ROOM = 100_000_000  # bytes of a fresh database with its first log, rounded up
_TROUBLE = ("FATAL", "PANIC", "could not", "error:", "cannot")


class PostgresServer(Server):
    """A PostgreSQL server of the keeper. `begin` prepares and starts it, `open` waits for it; afterwards `tend` starts
    it again if it dies."""

    STOP = ((signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0))  # fast, then immediate; both are crash-safe

    def __init__(self, name: str, home: Home, max_connections: int, logins: Sequence[Login], listen: str = "") -> None:
        """Choose its directory. `listen`: an address of this host at which workers of other hosts reach it; empty: none
        does."""
        self.name = name  # of the database that it is for
        self._listen = listen
        self._port = _PORT
        self._logins = logins
        self._home = home
        self._log = home.logs / f"{home.inside(name).name}.log"
        self._max_connections = max_connections
        self._run_as: RunAs | None = None
        self._place = home.directory
        self._programs = home.directory
        self._socket_dir = home.directory
        self._password = ""

    def address(self) -> ServerAddress:
        """The address at which it listens."""
        return ServerAddress(
            name=self.name,
            pid=self.pid,
            socket_dir=str(self._socket_dir),
            password=next(login.password for login in self._logins if login.role == CONTROLLER),
            max_connections=self._max_connections,
            log=str(self._log),
            listen=self._listen,
            port=self._port,
        )

    def begin(self) -> None:
        """Create the data if there are none, and start. Raises UsageError for data that it must not touch,
        StorageFault, DatabaseFault."""
        self._place = postgres_place(self._home, self.name)
        self._run_as = server_user(self._place)
        refuse_weak_root(self._place, self._run_as)
        self._programs = postgres_for(self._run_as, self._place) / "bin"
        rotate(self._log)
        if not (self._place / "data").exists():
            self._make_data()
        self._password = self._read_password()
        self._socket_dir = make_socket_dir(self._run_as)
        if self._listen:
            self._port = free_port(self._listen)
            self._admit()
        self._spawn()

    def open(self) -> None:
        """Wait until it answers, and let the roles in. Raises UsageError or DatabaseFault if it does not start."""
        self._wait()
        self._let_in()

    def _admit(self) -> None:
        """Write the file that lists who may connect from other hosts."""
        with system_errors(StorageFault, f"cannot write to {self._place}"):
            write_private(self._place / _ADMISSION, ADMISSION)
            give_to(self._place / _ADMISSION, self._run_as)

    @property
    def _remove(self) -> str:
        return (
            f"remove {self._home.scratch}: all jobs in it are deleted, and the next command creates an empty database"
        )

    def _check_version(self) -> None:
        with reading_errors(self._place / "data" / "PG_VERSION", f"; restore it, or {self._remove}"):
            version = (self._place / "data" / "PG_VERSION").read_text().strip()
        ours = postgres_version().partition(".")[0]
        if version != ours:
            raise UsageError(
                f"{self._place} contains data of PostgreSQL {version}, but this edbench uses {ours}; "
                "set EDBENCH_SCRATCH to another directory, or remove this one (all jobs in it are deleted)"
            )

    def _read_password(self) -> str:
        with reading_errors(self._place / "password", f"; restore it, or {self._remove}"):
            return (self._place / "password").read_text().strip()

    def _make_data(self) -> None:
        """Run initdb in a draft directory and rename it afterwards: a killed initdb leaves no incomplete data."""
        free = shutil.disk_usage(self._place).free
        if free < _ROOM:
            raise StorageFault(f"{self._place} has {free // 10**6} MB free; a new database needs {_ROOM // 10**6} MB")
        draft, pwfile, kept = (self._place / name for name in ("data.new", "pwfile", "password.new"))
        password = secrets.token_hex(24) + "\n"
        try:
            shutil.rmtree(draft, ignore_errors=True)
            write_private(kept, password)
            write_private(pwfile, password)
            give_to(pwfile, self._run_as)
            draft.mkdir(mode=0o700)
            give_to(draft, self._run_as)
            self._initdb(draft, pwfile)
            kept.rename(self._place / "password")
            draft.rename(self._place / "data")
        except OSError as error:
            raise StorageFault(f"cannot create a database in {self._place}: {error.strerror or error}") from error
        finally:
            pwfile.unlink(missing_ok=True)

    def _initdb(self, draft: Path, pwfile: Path) -> None:
        process = spawn(
            [
                self._programs / "initdb",
                f"--pgdata={draft}",
                f"--username={SUPERUSER}",
                f"--pwfile={pwfile}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
                "--no-data-checksums",
                "--no-instructions",
            ],
            env=self._environment(),
            log=self._log,
            cwd=self._place,
            run_as=self._run_as,
        )
        if process.wait() != 0:
            shutil.rmtree(draft, ignore_errors=True)
            raise _fault("did not create its files", self._place, self._log)

    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/", "PGTZ": "UTC"}

    def _spawn(self) -> None:
        remote = listening(self._listen, self._port, self._place / _ADMISSION) if self._listen else {}
        self._process = spawn(
            [
                self._programs / "postgres",
                "-D",
                self._place / "data",
                *server_arguments(self._socket_dir, self._max_connections, remote),
            ],
            env=self._environment(),
            log=self._log,
            cwd=Path("/"),
            run_as=self._run_as,
            death_signal=signal.SIGQUIT,
        )

    def _wait(self) -> None:
        start = time.monotonic()
        while not self._answers():
            if self.ended():
                self._check_version()  # it refuses data of another version itself; a check before each start would cost time
                why = last_line(self._log, containing=_TROUBLE)
                in_the_way = "lock file" in why or "shared memory block" in why
                if not in_the_way or time.monotonic() - start > _LEFTOVER_SECONDS:
                    raise _fault("did not start", self._place, self._log)
                self._end_leftover(time.monotonic() - start > _HURRY_SECONDS)
                time.sleep(0.2)
                self._spawn()
            if time.monotonic() - start > START_SECONDS:
                raise DatabaseFault(f"PostgreSQL did not answer within {START_SECONDS:.0f} s; see {self._log}")
            time.sleep(0.01)

    def _answers(self) -> bool:
        import psycopg2  # a third of the keeper's start, and the server needs longer for its own

        try:
            psycopg2.connect(dbname="postgres", **self.superuser()).close()
        except psycopg2.OperationalError as error:
            if "password authentication failed" in str(error):
                raise UsageError(
                    f"the database refuses the password in {self._place / 'password'}; restore it, or {self._remove}"
                ) from error
            return False
        return True

    def superuser(self) -> dict[str, Any]:
        """Arguments of psycopg2.connect for the superuser, without the database."""
        password = self._password
        place = {"host": str(self._socket_dir), "port": self._port}
        return {**place, "user": SUPERUSER, "password": password, "connect_timeout": 30}

    def _let_in(self) -> None:
        """Create the database and the logins of the roles, with the passwords of this keeper."""
        import psycopg2

        from core.services.database_logins import prepare_server

        try:
            prepare_server(self.superuser(), self.name, self._logins)
        except psycopg2.errors.DiskFull as error:
            raise StorageFault(f"no space left for database {self.name}; free space in {self._place}") from error
        except psycopg2.Error as error:
            why = " ".join(str(error).split())
            raise DatabaseFault(f"cannot create the logins of database {self.name}: {why}; see {self._log}") from error

    def _end_leftover(self, hard: bool) -> None:
        """End the server that a killed keeper left in our data. It is shutting down already; `hard`: kill it."""
        try:
            pid = int((self._place / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
            same = os.path.samefile(f"/proc/{pid}/cwd", self._place / "data")
        except (OSError, ValueError):
            return
        if hard and same:
            try:
                os.kill(pid, signal.SIGQUIT)
            except ProcessLookupError:
                return


def _fault(what: str, place: Path, log: Path) -> SystemFault:
    full = last_line(log, containing=("No space left",))
    if "No space left" in full or shutil.disk_usage(place).free < _ROOM // 10:
        return StorageFault(f"PostgreSQL has no space left in {place}; free space there and try again")
    why = last_line(log, containing=_TROUBLE) or "no message in its log"
    if "effective user ID" in why:
        return SystemFault("PostgreSQL requires an entry for its user in /etc/passwd; add one, or run as another user")
    return DatabaseFault(f"PostgreSQL {what} in {place}: {why}; see {log}")
