"""Experiments on the crew: workers that are connected to a broker, databases made for each run on the crew's servers.

Without a system of its own (EDBENCH_DATABASES) the command starts one for the experiment: embedded services, and a member whose
workers are processes of this host. Everything else is the same.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from controller.cluster.embedded import EmbeddedCluster, module_commands
from controller.databases import JobHandle, open_databases
from controller.filer.emulated import watched_filer
from controller.jobs.run import Crew as Workers
from core.crew.places import place_at, roots_of
from core.errors import UsageError
from core.filer.hosts import no_common_arbiter
from core.services import embedded_services
from core.services.embedded import running_services
from core.services.place import Home, postgres_place
from core.settings import Settings
from experiments.crew.admission import BACK_SECONDS, Admission, Seat, described, per_machine
from experiments.crew.hold import held_system, run_databases
from experiments.crew.lease import Leased
from experiments.crew.orders import Crew
from experiments.drops import Drop
from experiments.result.schema import At
from experiments.workloads.discovery.cold import drop
from experiments.workloads.discovery.places import fresh_place, scratch_place
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.serving import ServingMeter
from experiments.workloads.discovery.site import Deployment, Machine, OfHosts, Target
from monitoring.filer.boot import boot_id
from monitoring.processes import host_seconds
from sql.faces.runs import RUNS

WAIT_SECONDS = 15.0  # for members that are connecting
_START_SECONDS = 120.0  # for the command's own


class CrewMeter:
    """A `Meter`: what members report of their workers once a second; of this host, if all of them are on it."""

    def __init__(self, leased: Leased, serving: ServingMeter | None, *, here: bool) -> None:
        self._leased, self._serving, self._here = leased, serving, here

    def workers(self) -> tuple[float, float, float]:
        return self._leased.used()

    def host(self) -> tuple[float, float] | None:
        return host_seconds() if self._here else None

    def serving(self) -> Mapping[str, float]:
        return {} if self._serving is None else self._serving.read()

    def close(self) -> None:
        """It holds nothing."""


class CrewSite:
    """A `Site`. `settings`: of the system; embedded: one is started."""

    fresh = "every run: new databases on the crew's servers, restarted workers, an empty storage root of its own, everything synced before"

    def __init__(self, settings: Settings, source: Path, env: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._given, self._source, self._env, self._say = settings, source, env, say
        self.cluster = "embedded" if settings.embedded else "crew"
        self._system: Settings
        self._crew: Crew
        self._admission: Admission
        self._machine: Machine

    @contextmanager
    def taken(self, points: Sequence[At]) -> Iterator[Machine]:
        """Raises UsageError, too, when members may not work, or are too few."""
        specs = [point for point in points if isinstance(point, PointSpec)]
        workers, databases = max(spec.workers for spec in specs), max(spec.databases for spec in specs)
        with contextlib.ExitStack() as stack:
            if self._given.embedded:
                slots = max(spec.workers * spec.slots for spec in specs)
                self._system = stack.enter_context(self._own_system(workers, databases, slots))
            else:
                self._system = self._given
            if len(self._system.databases) < databases:
                raise UsageError(
                    f"{databases} databases are required, but EDBENCH_DATABASES names {len(self._system.databases)}",
                    field="databases",
                )
            assert self._system.broker is not None
            self._crew = Crew(self._system.broker)
            stack.callback(self._crew.close)
            opened = open_databases(self._system)
            for database in opened:
                stack.callback(database.dispose)
            stack.enter_context(held_system(self._crew, opened, self._say))
            roots = roots_of(self._system, self._env)
            self._admission = Admission(self._crew, roots, self._source, self._say)
            seats = self._admission.await_workers(workers, _START_SECONDS if self._given.embedded else WAIT_SECONDS)
            self._refuse_filer(seats)
            members = [seat.member for seat in seats]
            self._machine = Machine(
                processors=per_machine(members, "processors"),
                memory_bytes=per_machine(members, "memory_bytes"),
                hosts=described(members),
            )
            yield self._machine

    @contextmanager
    def _own_system(self, workers: int, databases: int, slots: int) -> Iterator[Settings]:
        """Services and a member of this host, for the whole experiment."""
        names = [f"db{number}" for number in range(1, databases + 1)]
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(scratch_place(self._given, f"crew-{secrets.token_hex(4)}"))
            settings = stack.enter_context(embedded_services(place, databases=names, slots=slots + _BESIDE))
            Home(settings.scratch).provisioner_request.touch()
            cluster = EmbeddedCluster(
                settings, workers, settings.slots, env=self._env, commands=_commands, together=True
            )
            stack.enter_context(cluster)
            cluster.manage()
            yield settings

    @contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]) -> Iterator[Deployment]:
        seats = self._admission.await_workers(spec.workers, BACK_SECONDS)
        self._machine.hosts[:] = described(self._admission.admitted)  # one may have come for one that was lost
        system = dataclasses.replace(self._system, slots=spec.slots, filer=target.settings.filer,
                                     index_engine=target.settings.index_engine)  # fmt: skip
        roots = roots_of(self._system, self._env)
        with (
            fresh_place(system, target.storage, name) as place,
            run_databases(self._crew, place, spec.databases) as (run, settings, databases),
        ):
            there, filer = place_at(settings.storage, roots), settings.filer
            if there is None:
                raise UsageError(
                    f"the members do not see {settings.storage}; it has to be below {self._system.storage}"
                )
            named = place_at(Path(filer), roots) if filer.startswith("/") else filer
            if named is None:
                raise UsageError(f"the members cannot read {filer}; put it below {self._system.storage}")
            leased = Leased(self._admission, seats, run, databases, there, spec.slots, named)
            members = [seat.member for seat in seats]
            here = {member.host["boot_id"] for member in members} == {boot_id()}
            embedded = self._given.embedded
            serving = ServingMeter(os.getpid(), running_services(self._system.scratch)) if embedded else None
            yield Deployment(
                settings=settings,
                databases=databases,
                crew=Workers(
                    settings=settings, ours=True, workers=spec.workers, slots=spec.slots, env=env, bring=lambda: leased
                ),
                meter=CrewMeter(leased, serving, here=here),
                watch=partial(watched_filer, settings),
                database_files={
                    d.name: postgres_place(Home(self._system.scratch), d.name) for d in databases if embedded
                },
                containers=tuple,
                processors=per_machine(members, "processors"),
                drop=partial(self._drop, several=len({seat.host for seat in seats}) > 1),
                hosts=lambda jobs: OfHosts(counted=tuple(leased.left), index=_index_tasks(jobs, leased)),
            )

    def _drop(self, directories: Sequence[Path], when: str, *, several: bool) -> list[Drop]:
        """Here, and where members have caches of their own at the same time there."""
        return [drop(directories, when), *(self._admission.drop(directories, when) if several else ())]

    def _refuse_filer(self, seats: Sequence[Seat]) -> None:
        if self._given.filer == "none":
            return
        hosts = {(str(seat.member.host["name"]), str(seat.member.host["boot_id"])) for seat in seats}
        if reason := no_common_arbiter(self._system.databases[0].name, hosts, self._system.filer_arbiter):
            raise UsageError(f"--filer: {reason}", field="filer")

    def no_null(self) -> str | None:
        if {member.host["boot_id"] for member in self._admission.admitted} != {boot_id()}:
            return "the members run on several hosts, which have no memory in common"
        return None

    def hand_over(self, directory: Path) -> None:
        """The workers are this user."""


_BESIDE = 16  # slots' worth of connections for the system's own queue manager and this command


def _commands(name: str, slots: int) -> Sequence[str]:
    """Of the processes of a command's own system: the queue manager, and one member for all workers."""
    if not name.startswith("w1-w"):
        return module_commands(name, slots)
    many = name.removeprefix("w1-w")
    return (sys.executable, "-m", "worker", "--name", "local", "--workers", many, "--slots", str(slots), "--idle")


def _index_tasks(jobs: Sequence[JobHandle], leased: Leased) -> dict[str, int]:
    """How many index tasks read what a worker had written or read before, and how many of them another client's."""
    tasks = elsewhere = 0
    if not leased.hosts:
        return {}
    for job in jobs:
        with job.database.transaction() as conn:
            for row in RUNS.index_hosts(conn, job=job.id):
                tasks += row.tasks
                elsewhere += row.tasks if row.worker.rpartition("-")[0] != row.written_on else 0
    return {"tasks": tasks, "on_another_host": elsewhere}
