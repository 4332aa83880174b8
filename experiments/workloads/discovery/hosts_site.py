"""Experiments on hosts that joined: databases and broker are of this command, workers of the hosts (decision 54)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from controller.databases import JobHandle, open_databases
from controller.filer.emulated import watched_filer
from controller.jobs.run import Crew
from core.errors import UsageError
from core.services import embedded_services
from core.services.place import Home, postgres_place
from core.settings import Settings
from experiments.drops import Drop
from experiments.hosts.agent import host_of
from experiments.hosts.crew import HostsCluster
from experiments.hosts.fleet import BACK_SECONDS, Fleet, described, memory_of, processors_of
from experiments.hosts.meeting import meeting
from experiments.hosts.players import awaited
from experiments.hosts.wanted import Wanted
from experiments.workloads.discovery.cold import drop
from experiments.workloads.discovery.ledger_meter import LedgerMeter
from experiments.workloads.discovery.places import fresh_place
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.site import Deployment, Machine, OfHosts, Target
from sql.faces.runs import RUNS


class HostsSite:
    """A `Site`."""

    cluster = "hosts"
    fresh = "every run: new database servers, new workers on the hosts, an empty storage root of its own"

    def __init__(self, settings: Settings, source: Path, wanted: Wanted, say: Callable[[str], None]) -> None:
        if settings.filer != "none":
            raise UsageError("several hosts cannot share one emulated filer: remove --filer")
        self._settings, self._source, self._wanted, self._say = settings, source, wanted, say
        self._fleet: Fleet
        self._machine: Machine

    @contextlib.contextmanager
    def taken(self) -> Iterator[Machine]:
        """The hosts are there and see the storage. Raises UsageError, RunFailed when they do not come."""
        wanted, scratch = self._wanted, self._settings.scratch
        with meeting(scratch, wanted.address, wanted.port) as place:
            self._say(awaited(wanted, scratch))
            self._fleet = Fleet(place, wanted.hosts, self._settings.storage, self._source, self._say)
            hosts = self._fleet.await_all(wanted.seconds)
            self._machine = Machine(
                processors=processors_of(hosts), memory_bytes=memory_of(hosts), hosts=described(hosts)
            )
            yield self._machine

    @contextlib.contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]) -> Iterator[Deployment]:
        names = [f"db{n}" for n in range(1, spec.databases + 1)]
        hosts = self._fleet.await_all(BACK_SECONDS)
        self._machine.hosts[:] = described(self._fleet.admitted)  # one may have come for one that was lost
        with (
            fresh_place(target.settings, target.storage, name) as place,
            embedded_services(
                place, databases=names, slots=spec.workers * spec.slots, listen=self._wanted.address
            ) as settings,
        ):
            databases = open_databases(settings)
            cluster = HostsCluster(
                self._fleet, hosts, settings, databases, workers=spec.workers, slots=spec.slots, env=env
            )
            try:
                yield Deployment(
                    settings=settings,
                    databases=databases,
                    crew=Crew(
                        settings=settings,
                        ours=True,
                        workers=spec.workers,
                        slots=spec.slots,
                        env=env,
                        bring=lambda: cluster,
                    ),
                    meter=LedgerMeter(databases[0], same_host=False),
                    watch=partial(watched_filer, settings),
                    database_files={d.name: postgres_place(Home(settings.scratch), d.name) for d in databases},
                    containers=tuple,
                    processors=cluster.processors,
                    drop=self._drop,
                    hosts=lambda jobs: OfHosts(counted=tuple(cluster.left), index=_index_tasks(jobs)),
                )
            finally:
                for database in databases:
                    database.dispose()

    def _drop(self, directories: Sequence[Path], when: str) -> list[Drop]:
        """Here, and on every host at the same time."""
        return [drop(directories, when), *self._fleet.drop(directories, when)]

    def no_null(self) -> str | None:
        return "the workers run on other hosts, whose memory this command cannot fill"

    def hand_over(self, directory: Path) -> None:
        """The hosts' users are to be the same; what they may not write is refused before."""


def _index_tasks(jobs: Sequence[JobHandle]) -> dict[str, int]:
    """How many index tasks read what a host had written or read before, and how many of them were another host's."""
    tasks = elsewhere = 0
    for job in jobs:
        with job.database.transaction() as conn:
            for row in RUNS.index_hosts(conn, job=job.id):
                tasks += row.tasks
                elsewhere += row.tasks if host_of(row.worker) != row.written_on else 0
    return {"tasks": tasks, "on_another_host": elsewhere}
