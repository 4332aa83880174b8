"""A site on the crew: workers that are connected to a broker, databases made for each run on the crew's servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from controller.databases import JobHandle
from controller.filer.emulated import watched_filer
from controller.jobs.run import Crew
from core.services.embedded import running_services
from core.services.place import Home, postgres_place
from core.settings import Settings
from experiments.crew.admission import BACK_SECONDS, described, usable
from experiments.crew.lease import Leased
from experiments.crew.system import System, Wanted, Ways, taken_system
from experiments.drops import Drop
from experiments.places import fresh_place
from experiments.result.schema import At
from experiments.workloads.discovery.cold import drop
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.serving import ServingMeter
from experiments.workloads.discovery.site import Deployment, Machine, OfHosts, Target
from monitoring.filer.block import boot_id
from monitoring.machine import host_seconds
from sql.faces.runs import RUNS


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

    fresh = (
        "every run: new databases on the crew's servers, restarted workers, an empty storage root of its own, everything"
        " synced before"
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
        self.cluster = "embedded" if settings.embedded else "crew"
        self._system: System
        self._machine: Machine

    @contextmanager
    def taken(self, points: Sequence[At]) -> Iterator[Machine]:
        """Raises UsageError, too, when members may not work, or are too few."""
        specs = [point for point in points if isinstance(point, PointSpec)]
        wanted = Wanted(
            workers=max(spec.workers for spec in specs),
            databases=max(spec.databases for spec in specs),
            slots=max(spec.workers * spec.slots for spec in specs),
        )
        with taken_system(self._given, self._env, self._source, wanted, self._say, self._ways) as (self._system, seats):
            members = [seat.member for seat in seats]
            self._machine = Machine(
                processors=usable(members, "processors"),
                memory_bytes=usable(members, "memory_bytes"),
                hosts=described(members),
            )
            yield self._machine

    @contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]) -> Iterator[Deployment]:
        system, given = self._system, target.settings
        seats = system.admission.await_workers(spec.workers, BACK_SECONDS)
        self._machine.hosts[:] = described(system.admission.admitted)  # one may have come for one that was lost
        of_run = replace(system.settings, slots=spec.slots, filer=given.filer, index_engine=given.index_engine)
        members = [seat.member for seat in seats]
        several = len({seat.host for seat in seats}) > 1
        with (
            fresh_place(of_run, target.storage, name) as place,
            system.run(place, spec.databases) as (settings, databases, lease),
        ):
            leased = lease(seats)
            scratch = system.settings.scratch
            serving = ServingMeter(os.getpid(), running_services(scratch)) if system.ours else None
            here = {member.host["boot_id"] for member in members} == {boot_id()}
            yield Deployment(
                settings=settings,
                databases=databases,
                crew=Crew(
                    settings=settings, ours=True, workers=spec.workers, slots=spec.slots, env=env, bring=lambda: leased
                ),
                meter=CrewMeter(leased, serving, here=here),
                watch=partial(watched_filer, settings),
                database_files={d.name: postgres_place(Home(scratch), d.name) for d in databases if system.ours},
                containers=lambda: () if system.ours else [_use(one) for one in leased.left],
                processors=usable(members, "processors"),
                drop=partial(self._drop, several=several),
                hosts=lambda jobs: OfHosts(counted=tuple(leased.left), index=_index_tasks(jobs, leased)),
            )

    def _drop(self, directories: Sequence[Path], when: str, *, several: bool) -> list[Drop]:
        """Here, and where members have caches of their own at the same time there."""
        return [drop(directories, when), *(self._system.admission.drop(directories, when) if several else ())]

    def no_null(self) -> str | None:
        if {member.host["boot_id"] for member in self._system.admission.admitted} != {boot_id()}:
            return "the members run on several hosts, which have no memory in common"
        return None

    def hand_over(self, directory: Path) -> None:
        """The workers are this user."""


def _use(left: Mapping[str, Any]) -> dict[str, Any]:
    """What a member counted, as `ContainerUse` has it."""
    kept = ("memory_peak_bytes", "block_read_bytes", "block_write_bytes", "block_source")
    return {
        "name": left["name"],
        "service": "worker",
        "cpu_s": left["workers_cpu_s"],
        "network_received_bytes": left["received_bytes"],
        "network_sent_bytes": left["sent_bytes"],
        **{name: left[name] for name in kept},
    }


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
