"""The installation that a campaign breaks: services and workers of its own, kept warm from run to run."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import psutil

from chaos.armed import armed
from chaos.clock import lay_clock
from chaos.disk import Disk
from chaos.lines import Lines
from chaos.moments import is_alive
from chaos.namespace import Namespace
from controller.cluster.embedded import EmbeddedCluster, module_commands
from controller.databases import open_databases
from core.errors import EdbenchError, SystemFault
from core.services import Addresses, embedded_services, running_services
from core.settings import Settings
from monitoring.processes import process_state
from sql import workers
from sql.session import Database

DATABASES = ("db1", "db2")
DISKS, NETWORK, CLOCK, SOURCE = "disks", "network", "clock", "source"  # what faults need
WORKERS, SLOTS = 2, 2
DEATHS_BEFORE_RENEWAL = 3  # of one thing; whoever keeps it up waits longer each time, and gives up in the end
_STORAGE_BYTES, _SCRATCH_BYTES, _DATABASE_BYTES = 512_000_000, 128_000_000, 3_000_000_000  # of its own disks
READY_SECONDS = 180.0  # seconds on an idle machine
_POLL_SECONDS = 0.02


class Site:
    """Services and workers; entering it starts them."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        ear: str,
        needs: frozenset[str] = frozenset(),
    ) -> None:
        """`settings`: without services; scratch and storage root are the site's own, on small disks where `needs` says
        so; `ear`: the socket on which the campaign listens."""
        self.ear = ear
        self._needs = needs
        self.disks: dict[str, Disk] = {}
        self._own = settings
        self._env = env
        self._stack = contextlib.ExitStack()
        self._crew = contextlib.ExitStack()
        self._cluster: EmbeddedCluster | None = None
        self._settings: Settings | None = None
        self._own_network = self._other_crew = False
        self.namespace: Namespace | None = None
        self.lines: Lines
        self.command: psutil.Process | None = None  # an `edbench discover` that runs beside it
        self.databases: list[Database] = []
        self.service_deaths = 0  # since the services were started
        self.crew_deaths = 0  # since the workers were

    def __enter__(self) -> Self:
        try:
            self._start_services()
            self._start_crew()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        self._crew.close()
        self._stack.close()

    @property
    def settings(self) -> Settings:
        """With services."""
        assert self._settings is not None, "the site is open"
        return self._settings

    @property
    def addresses(self) -> Addresses:
        """Where the services are, and their processes as of now."""
        services = running_services(self._own.scratch)
        if services is None:
            raise SystemFault(f"the services of {self._own.scratch} are gone")
        return services

    def _start_services(self) -> None:
        self.service_deaths = 0
        for name, disk in _disks(self._own, self._needs).items():
            disk.mount()
            self.disks[name] = disk
            self._stack.callback(disk.close)
        self._stack.callback(self.disks.clear)
        attached = embedded_services(self._own, databases=DATABASES, slots=WORKERS * SLOTS)
        self._settings = self._stack.enter_context(attached)
        self.databases = open_databases(self._settings, application="edbench chaos")
        for database in self.databases:
            self._stack.callback(database.dispose)
            if CLOCK in self._needs:
                lay_clock(database)

    def _start_crew(self) -> None:
        self.crew_deaths, self._other_crew = 0, False
        if self._own_network:
            self.namespace = Namespace()
            self._crew.callback(self._forget_namespace)
        self.lines = Lines(self.settings, self.namespace.host if self.namespace is not None else "")
        self._crew.callback(self.lines.close)
        cluster = EmbeddedCluster(self.lines.settings, WORKERS, SLOTS, env=self._env, commands=self._commands)
        self._cluster = self._crew.enter_context(cluster)

    def _commands(self, name: str, slots: int) -> Sequence[str]:
        """Workers are in namespaces of their own, where there are any; the queue manager is with the services."""
        command = armed(module_commands(name, slots), self.ear)
        if name == "queue-manager":
            return command
        return command if self.namespace is None else self.namespace.inside(command)

    def _forget_namespace(self) -> None:
        if self.namespace is not None:
            self.namespace.close()
            self.namespace = None

    def need(self, *, own_network: bool) -> None:
        """Have the workers as the next run wants them; they are started anew where they are not."""
        if own_network != self._own_network:
            self._own_network = own_network
            self._other_crew = True

    def renew(self) -> None:
        """Start what was broken too often anew, so that nothing of one run is left for the next."""
        services = self.service_deaths >= DEATHS_BEFORE_RENEWAL
        broken = self.crew_deaths >= DEATHS_BEFORE_RENEWAL or not self._stays_up()
        if services or broken or self._other_crew:
            self._crew.close()
            if services:
                self._stack.close()
                self._start_services()
            self._start_crew()

    def restart(self) -> None:
        """All of it: after a run that failed nothing is what it was."""
        self.close()
        self._start_services()
        self._start_crew()

    def _stays_up(self) -> bool:
        try:
            assert self._cluster is not None
            self._cluster.check()
        except EdbenchError:
            return False
        return True

    def wait_until_ready(self) -> None:
        """Until every database answers and sees all slots, and every member runs. Raises SystemFault."""
        self._until(self._ready, "the workers do not come up")

    def _ready(self) -> bool:
        if not self._stays_up() or len(self.members()) != WORKERS + 1:
            return False
        for database in self.databases:
            try:
                with database.transaction() as conn:
                    if workers.WORKERS.live_slots(conn) < WORKERS * SLOTS:
                        return False
            except EdbenchError:
                return False
        return all(len(self.children(f"w{n}")) > SLOTS for n in range(1, WORKERS + 1))

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise SystemFault(f"{what}; see {self._own.scratch / 'logs'}")
            time.sleep(_POLL_SECONDS)

    # Who is there

    def members(self) -> dict[str, int]:
        """Queue manager (`queue-manager`) and workers (`w1` …): process ids of those that run."""
        return {} if self._cluster is None else self._cluster.pids()

    def children(self, name: str) -> list[int]:
        """A worker's slots and its reporter."""
        return self.children_of(self.members().get(name, 0))

    def children_of(self, pid: int) -> list[int]:
        """Processes that it started and that are there."""
        try:
            children = psutil.Process(pid).children() if pid else []
        except psutil.Error:
            return []
        return sorted(child.pid for child in children if is_alive(child.pid))

    def slots(self) -> list[int]:
        """Every child of every worker."""
        return [pid for n in range(1, WORKERS + 1) for pid in self.children(f"w{n}")]

    def server(self, choice: int) -> int:
        """The process of one of the databases."""
        servers = self.addresses.servers
        return servers[choice % len(servers)].pid

    def count_death(self, pid: int) -> None:
        """A member or a service is about to be killed: whoever keeps it up starts it again, but not for ever."""
        if pid in self.members().values():
            self.crew_deaths += 1
        elif pid in self._services():
            self.service_deaths += 1

    def backends(self, server: int) -> list[int]:
        """Processes of a database server that serve somebody."""
        try:
            children = psutil.Process(server).children()
        except psutil.Error:
            return []
        out = []
        for child in children:
            with contextlib.suppress(psutil.Error):
                if "edbench" in " ".join(child.cmdline()) and is_alive(child.pid):
                    out.append(child.pid)
        return out

    def stopped(self) -> list[int]:
        """Processes of the installation that somebody stopped."""
        known = [*self.members().values(), *self.slots(), *self._services()]
        return [pid for pid in known if process_state(pid) == "T"]

    def _services(self) -> list[int]:
        addresses = self.addresses
        return [addresses.keeper, addresses.broker.pid, *(server.pid for server in addresses.servers)]

    def continue_all(self) -> None:
        """SIGCONT to whoever is stopped."""
        for pid in self.stopped():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    @property
    def home(self) -> Path:
        """The campaign's directory."""
        return self._own.scratch.parent


def _disks(settings: Settings, needs: frozenset[str]) -> dict[str, Disk]:
    """Their images lie beside what is mounted; they are sparse."""
    others = settings.scratch.parent
    if DISKS not in needs:
        return {}
    return {
        "storage": Disk(others / "storage.img", settings.storage, _STORAGE_BYTES),
        "scratch": Disk(others / "scratch.img", settings.scratch / "workers", _SCRATCH_BYTES),
        "database": Disk(others / "database.img", settings.scratch / "services" / "postgres", _DATABASE_BYTES),
    }
