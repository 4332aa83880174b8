"""The site of a discovery: workers that are connected to a broker, and databases created for each run on the crew's
servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from controller.databases import JobHandle
from controller.jobs.source import PreparedSource
from core.residency import drop_pages, regular_files
from core.services.address import Addresses
from core.services.embedded import running_services
from core.services.place import Home, postgres_place
from core.settings import Settings
from experiments.conditions import Drop
from experiments.crew.admission import BACK_SECONDS, described, usable
from experiments.crew.lease import Leased
from experiments.crew.system import System, Wanted, Ways, taken_system
from experiments.places import fresh_place
from experiments.result.schema import At
from experiments.workloads.discovery.observed import OfHosts
from experiments.workloads.discovery.result import SERVERS, PointSpec
from experiments.workloads.discovery.setting import parse_setting
from monitoring.block import boot_id
from monitoring.machine import host_seconds
from monitoring.processes import below, command_line, process_use
from sql.runs import RUNS
from sql.session import Database


def drop(directories: Sequence[Path], when: str) -> Drop:
    """Drop the pages of every regular file below the directories; as root, with everything else of the machine.

    Dirty pages cannot be dropped, so everything is synced before: that is part of the condition. What the filer itself,
    its controllers and other hosts keep cannot be dropped from here, and every result states this."""
    paths = [path for directory in directories for path in regular_files(directory)]
    return Drop.of(when, drop_pages(paths, everything=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The storage of a run: that under test, or null storage."""

    settings: Settings  # no services attached; scratch and filer as they are to be used
    storage: Path  # directory on the storage under test
    source: PreparedSource


BROKER, QUEUE_MANAGER, COMMAND = "broker", "queue manager", "command"


class ServingMeter:
    """Reads the kernel's CPU counters of these processes, in steps of 10 ms."""

    def __init__(self, parent: int, services: Addresses | None) -> None:
        """`parent`: the queue manager is among its children; `services`: None counts neither databases nor broker."""
        self._parent = parent
        self._services = services
        self._last: dict[str, float] = {}

    def read(self) -> dict[str, float]:
        """Return the seconds by name since the processes began; for one that has ended, the last value read."""
        managers = [pid for pid in below(self._parent, direct=True) if "queue_manager" in command_line(pid)]
        used = {COMMAND: _used(self._parent), QUEUE_MANAGER: sum(map(_used, managers))}
        if self._services is not None:
            # A server with its living processes, and those that have ended, which the kernel adds to their parent.
            used[SERVERS] = sum(process_use(server.pid, with_children=True).cpu_s + sum(map(_used, below(server.pid)))
                                for server in self._services.servers)  # fmt: skip
            used[BROKER] = _used(self._services.broker.pid)
        for name, seconds in used.items():
            self._last[name] = max(seconds, self._last.get(name, 0.0))
        return dict(self._last)


def _used(pid: int) -> float:
    return process_use(pid).cpu_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Parts of one run: fresh databases, an empty storage root, workers that start with the run, and counters that are
    read once a second."""

    settings: Settings  # with the run's databases
    databases: Sequence[Database]
    leased: Leased  # entered when the run has its jobs
    system: System
    serving_meter: ServingMeter | None

    @property
    def processors(self) -> float:
        """CPUs of the working members."""
        return usable([seat.member for seat in self.leased.seats], "processors")

    def workers(self) -> tuple[float, float, float]:
        """Return the time (seconds since the epoch) and the workers' CPU and run-queue seconds so far, as members
        report them."""
        return self.leased.used()

    def host(self) -> tuple[float, float] | None:
        """Return the CPU seconds that the workers' host was busy, and CPU seconds in all; None if it is another
        host."""
        here = all(seat.member.host["boot_id"] == boot_id() for seat in self.leased.seats)
        return host_seconds() if here else None

    def serving(self) -> Mapping[str, float]:
        """Return the CPU seconds so far of the processes that serve the workers, by name; empty for a system that
        others run."""
        return {} if self.serving_meter is None else self.serving_meter.read()

    @property
    def database_files(self) -> dict[str, Path]:
        """The directory of each server's files, for a system that was started for the experiment."""
        scratch = self.system.settings.scratch
        return {d.name: postgres_place(Home(scratch), d.name) for d in self.databases if self.system.ours}

    def containers(self) -> list[dict[str, Any]]:
        """Return the resources each member used, as `ContainerUse` has them; valid once the crew has left."""
        kept = ("memory_peak_bytes", "block_read_bytes", "block_write_bytes", "block_source")
        return [
            {
                "name": left["name"],
                "service": "worker",
                "cpu_s": left["workers_cpu_s"],
                "network_received_bytes": left["received_bytes"],
                "network_sent_bytes": left["sent_bytes"],
                **{name: left[name] for name in kept},
            }
            for left in (() if self.system.ours else self.leased.left)
        ]

    def drop(self, directories: Sequence[Path], when: str) -> list[Drop]:
        """Drop caches here and, if members have caches of their own, there at the same time."""
        several = len({seat.host for seat in self.leased.seats}) > 1
        return [drop(directories, when), *(self.system.admission.drop(directories, when) if several else ())]

    def hosts(self, jobs: Sequence[JobHandle]) -> OfHosts:
        """Return the observations of the hosts; valid once the crew has left."""
        return OfHosts(counted=tuple(self.leased.left), index=_index_tasks(jobs, self.leased))


class Site:
    """The site of an experiment. `settings`: of the system; embedded: one is started. `show`: entered as long as a run
    is deployed."""

    fresh = (
        "every run: new databases on the crew's servers, restarted workers, its own empty storage root, with the "
        "file system synced before"
    )

    def __init__(
        self,
        settings: Settings,
        source: Path,
        env: Mapping[str, str],
        say: Callable[[str], None],
        ways: Ways | None = None,
    ) -> None:
        self._given, self._source, self._env, self._say = settings, source, env, say
        self._ways = ways or Ways()
        self._ways.refuse_other_system(settings)  # before anything is made
        self.cluster = "embedded" if settings.embedded else "crew"
        self.show: Callable[[Settings], AbstractContextManager[None]] = lambda _settings: nullcontext()
        self._system: System

    @contextmanager
    def taken(self, points: Sequence[At]) -> Iterator[float]:
        """Take the site for an experiment whose largest point is among these; yield the bytes of memory that may cache
        files there. Restore everything at the end. Raises UsageError if members may not work or are too few,
        SystemFault."""
        specs = [point for point in points if isinstance(point, PointSpec)]
        wanted = Wanted(
            workers=max(spec.workers for spec in specs),
            databases=max(spec.databases for spec in specs),
            slots=max(spec.workers * spec.slots for spec in specs),
        )
        with taken_system(self._given, self._env, self._source, wanted, self._say, self._ways) as (self._system, seats):
            yield usable([seat.member for seat in seats], "memory_bytes")

    @property
    def hosts(self) -> list[dict[str, Any]]:
        """The hosts for the disclosure; one may have replaced a lost one."""
        return described(self._system.admission.admitted)

    @contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target) -> Iterator[Deployment]:
        """Provide everything for one run and remove it afterwards; `name` is unique to it. Raises UsageError,
        SystemFault."""
        system, given = self._system, target.settings
        seats = system.admission.await_workers(spec.workers, BACK_SECONDS)
        mount = None if spec.setting is None else parse_setting(spec.setting).mount
        of_run = replace(system.settings, slots=spec.slots, filer=given.filer, index_engine=given.index_engine)
        with (
            fresh_place(of_run, target.storage, name) as place,
            system.run(place, spec.databases, seats, mount) as (settings, databases, leased),
            self.show(settings),
        ):
            yield Deployment(
                settings=settings,
                databases=databases,
                leased=leased,
                system=system,
                serving_meter=ServingMeter(os.getpid(), running_services(system.settings.scratch))
                if system.ours
                else None,
            )

    def no_null(self, memory: Path) -> str | None:
        """Return why the workers cannot have their storage in this directory of this host's memory; None if they
        can."""
        return self._system.admission.unseen(memory)


def _index_tasks(jobs: Sequence[JobHandle], leased: Leased) -> dict[str, int]:
    """Return how many index tasks read what a worker had written or read, and for how many of them that was another
    client."""
    tasks = elsewhere = 0
    if not leased.hosts:
        return {}
    for job in jobs:
        with job.database.transaction() as conn:
            for row in RUNS.index_hosts(conn, job=job.id):
                tasks += row.tasks
                elsewhere += row.tasks if row.worker.rpartition("-")[0] != row.written_on else 0
    return {"tasks": tasks, "on_another_host": elsewhere}
