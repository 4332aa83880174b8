"""Experiments in containers: every run has database servers, a broker, a queue manager and workers of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from controller.cluster.containers import Project
from controller.cluster.facts import boot_id_of, database_directories, worker_user
from controller.cluster.filer_container import COMMAND, watching_container
from controller.cluster.quiet import quiet_system
from controller.cluster.run_cluster import RunCluster
from controller.cluster.run_containers import RunPlan, RunServices, clear_up
from controller.cluster.sight import check_storage, refuse_unseen, refuse_unseen_filer
from controller.databases import open_databases
from controller.filer.emulated import Watch, watched_filer
from controller.jobs.run import Crew
from core.errors import StorageFault
from core.memory import client_memory
from core.settings import Settings
from experiments.workloads.discovery.ledger_meter import LedgerMeter
from experiments.workloads.discovery.places import Owner, empty_beside, fresh_place
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.site import Deployment, Machine, Target
from monitoring.filer.boot import boot_id
from monitoring.machine import host
from sql.session import Database


class ComposeSite:
    """A `Site` in the Compose system that `make up` started. `system` has its services, `env` says which it is."""

    cluster = "compose"
    fresh = (
        "every run: new database servers with empty volumes, a new broker, new workers, an empty storage root of its"
        " own, everything synced before; the system's own workers are paused"
    )

    def __init__(self, system: Settings, source: Path, env: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._system = system
        self._source = source
        self._say = say
        self._env = env
        self._here = False  # whether the containers run on this host
        self._owner: Owner = (0, 0)  # whom they work as

    @contextmanager
    def taken(self) -> Iterator[Machine]:
        """Raises UsageError, too, when the workers do not see the source, or we may not make files for them."""
        project = Project(self._env)
        databases: list[Database] = []
        try:
            check_storage(project, self._system.storage)
            controller = project.one("controller")
            refuse_unseen(self._source, self._system.storage, self._system.evidence)
            refuse_unseen_filer(self._system)
            self._owner = worker_user(controller)
            self._here = boot_id_of(controller) == boot_id()
            databases = open_databases(self._system)
            with quiet_system(project, databases, self._say):
                yield self._machine(project.engine())
        finally:
            for database in databases:
                database.dispose()
            project.close()

    @contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]) -> Iterator[Deployment]:
        with contextlib.ExitStack() as stack:
            project = Project(self._env)
            stack.callback(project.close)
            place = stack.enter_context(fresh_place(target.settings, target.storage, name, self._owner))
            places = {
                db: stack.enter_context(empty_beside(directory, f"{name}-{db}"))
                for db, directory in database_directories(project, spec.databases).items()
            }
            stack.enter_context(_removed(project, place.scratch / "logs"))
            plan = RunPlan(
                settings=dataclasses.replace(place, slots=spec.slots),
                databases=spec.databases,
                workers=spec.workers,
                binds=target.binds,
                places=places,
            )
            services = RunServices(project, plan)
            settings, databases = services.start()
            for database in databases:
                stack.callback(database.dispose)
            cluster = RunCluster(services, databases, spec.workers)
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
                meter=LedgerMeter(databases[0], same_host=self._here),
                watch=partial(_watch, services, settings),
                database_files=services.database_files(),
                containers=lambda: cluster.uses,
            )

    def no_null(self) -> str | None:
        return None if self._here else "the containers run on another host, whose memory this command cannot fill"

    def hand_over(self, directory: Path) -> None:
        if self._owner[0] == os.geteuid():
            return
        try:
            os.chown(directory, *self._owner)
            for parent, directories, files in os.walk(directory):
                for name in (*directories, *files):
                    os.chown(Path(parent, name), *self._owner, follow_symlinks=False)
        except OSError as error:
            raise StorageFault(
                f"cannot change the owner of {directory} to that of the workers: {error}", errno=error.errno or 0
            ) from error

    def _machine(self, engine: Mapping[str, Any]) -> Machine:
        engines = {
            "name": engine["Name"],
            "processors": engine["NCPU"],
            "memory_bytes": engine["MemTotal"],
            "kernel": engine["KernelVersion"],
            "docker_engine": engine["ServerVersion"],
        }
        if self._here:
            memory = min(client_memory(), int(engine["MemTotal"]))
            return Machine(
                processors=int(engine["NCPU"]),
                memory_bytes=memory,
                hosts=[host() | engines | {"role": "engine and this command"}],
            )
        return Machine(
            processors=int(engine["NCPU"]),
            memory_bytes=int(engine["MemTotal"]),
            hosts=[
                engines | {"role": "engine; its CPU use was not observed, because it is not this host"},
                host() | {"role": "this command"},
            ],
        )


def _watch(services: RunServices, settings: Settings) -> AbstractContextManager[Watch]:
    if settings.filer == "none":
        return watched_filer(settings)
    return watching_container(
        services.project, lambda: services.clone("controller", 1, service="filer", command=COMMAND)
    )


@contextmanager
def _removed(project: Project, logs: Path) -> Iterator[None]:
    """All containers of the run, at the end; after a failure their logs stay."""
    try:
        yield
    except Exception:
        clear_up(project, logs)
        raise
    finally:
        clear_up(project)
