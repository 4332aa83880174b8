"""The containers of one run of an experiment: database servers, broker, queue manager and workers of its own.

They are cloned from those of the system that `make up` started, as services of other names (`run-db1`, `run-worker`):
Compose takes them for orphans, so that `make down` and `make up` remove what a killed command left behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from docker.models.containers import Container

from controller.cluster.containers import (
    Differences,
    Project,
    address_of,
    engine_faults,
    environment_of,
    remove,
    service_of,
)
from controller.cluster.reach import elsewhere, login_of
from controller.databases import open_databases
from core.errors import DatabaseFault, SystemFault, UsageError
from core.roles import has_login, with_login
from core.services.logs import open_log
from core.settings import DatabaseAddress, Settings, database_urls
from sql.session import Database

RUN = "run-"  # before the name of every service of a run
VOLUME = "edbench.run"  # label of the volumes of a run
DATABASE_FILES = "/var/lib/postgresql"
DATABASE_PORT, BROKER_PORT = 5432, 6379
READY_SECONDS = 90.0  # for database servers that are being made
GRACE_SECONDS = 20.0
_LOG_LINES = 2_000
_PARALLEL = 8
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What the containers of a run are to be."""

    settings: Settings  # storage root, slots, index engine and filer of the run
    databases: int
    workers: int
    binds: Sequence[Path] = ()  # that workers have to see beside the shared volume, at the same path
    places: Mapping[str, Path] = dataclasses.field(default_factory=dict)  # database → empty directory for its files


def run_containers(project: Project) -> list[Container]:
    """Those of a run, of this command or left by another."""
    return [c for c in project.containers() if service_of(c).startswith(RUN)]


def refuse_experiment(project: Project) -> None:
    """Raises UsageError while an experiment has the system for itself."""
    if any(c.status == "running" for c in run_containers(project)):
        raise UsageError(
            "an experiment uses this system; wait for its end, or, if its command was killed, clean up with `make up`"
        )


def clear_up(project: Project, logs: Path | None = None) -> None:
    """Remove every container and volume of a run; the containers' logs go to `logs` before, if given.

    Raises SystemFault.
    """
    left = run_containers(project)
    if logs is not None:
        _save_logs(left, logs)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(lambda c: remove(c, 0), left))
    project.remove_volumes(VOLUME)


def _save_logs(containers: Sequence[Container], directory: Path) -> None:
    with contextlib.suppress(OSError, SystemFault):
        directory.mkdir(parents=True, exist_ok=True)
        for container in containers:
            with engine_faults(), open_log(directory / f"{container.name}.log", afresh=True) as log:
                log.write(container.logs(tail=_LOG_LINES))


class RunServices:
    """Database servers and broker of a run, and the clones of ours that work with them."""

    def __init__(self, project: Project, plan: RunPlan) -> None:
        self.project = project
        self._plan = plan
        controller = project.one("controller")
        self._theirs = environment_of(controller.attrs)
        self._login = login_of(controller)
        self._names = [f"db{number}" for number in range(1, plan.databases + 1)]

    def start(self) -> tuple[Settings, list[Database]]:
        """Start servers and broker and wait for them: settings for this command, and the databases with the schema.

        Raises UsageError when the system has no servers to clone, SystemFault when one does not come up.
        """
        with ThreadPoolExecutor(_PARALLEL) as pool:
            made = [pool.submit(self._start_database, name) for name in self._names]
            broker = pool.submit(self._clone, "broker", Differences(number=1, aliases=[f"{RUN}broker"]))
            containers = {name: self.project.get(one.result()) for name, one in zip(self._names, made, strict=True)}
            at = address_of(self.project.get(broker.result()), BROKER_PORT)
        self._admit()
        settings = dataclasses.replace(
            self._plan.settings,
            databases=tuple(
                DatabaseAddress(name=name, url=self._ours(self._database_url, *address_of(one, DATABASE_PORT)))
                for name, one in containers.items()
            ),
            broker=self._ours(self._theirs["EDBENCH_BROKER"], *at),
        )
        return settings, _open_when_ready(settings)

    def clone(self, template: str, number: int, *, service: str = "", command: Sequence[str] | None = None) -> str:
        """Start one more of ours in this run, like those of service `template`; the container's name."""
        plan = self._plan.settings
        env = {
            "EDBENCH_DATABASES": self._databases,
            "EDBENCH_BROKER": elsewhere(self._theirs["EDBENCH_BROKER"], f"{RUN}broker", BROKER_PORT),
            "EDBENCH_STORAGE": str(plan.storage),
            "EDBENCH_SLOTS": str(plan.slots),
            "EDBENCH_INDEX_ENGINE": plan.index_engine,
            "EDBENCH_FILER": plan.filer,
        }
        binds = [str(path) for path in self._plan.binds]
        aliases = [template] if template in ("worker", "queue_manager") else []  # by this name Prometheus finds them
        differences = Differences(number=number, env=env, command=command, binds=binds, aliases=aliases)
        return self._clone(template, differences, service or template)

    def database_files(self) -> dict[str, Path]:
        """Where each server's files lie on the engine's host."""
        out = {}
        for name in self._names:
            (container,) = self.project.containers(f"{RUN}{name}")
            for mount in container.attrs["Mounts"]:
                if mount["Destination"] == DATABASE_FILES:
                    out[name] = Path(mount["Source"])
        return out

    def _admit(self) -> None:
        """Let the roles into the servers, by a container like the one that did so for the system's."""
        if has_login(self._database_url):
            return
        different = Differences(number=1, env={"EDBENCH_DATABASES": self._databases})
        container = self.project.get(self._clone("logins", different))
        with engine_faults():
            status = container.wait(timeout=READY_SECONDS)["StatusCode"]
            said = container.logs(tail=1).decode(errors="replace").strip()
        remove(container, 0)
        if status != 0:
            raise SystemFault(f"the run's databases refuse all logins: {said}")

    def _ours(self, url: str, host: str, port: int) -> str:
        """A URL of the containers as this process can use it."""
        moved = elsewhere(url, host, port)
        return moved if self._login is None or has_login(url) else with_login(moved, self._login)

    @property
    def _databases(self) -> str:
        """For the run's containers; they come with the logins of the containers that they are like."""
        urls = ((name, elsewhere(self._database_url, f"{RUN}{name}", DATABASE_PORT)) for name in self._names)
        return ",".join(f"{name}={url}" for name, url in urls)

    @property
    def _database_url(self) -> str:
        return database_urls(self._theirs["EDBENCH_DATABASES"])[0][1]

    def _start_database(self, name: str) -> str:
        template = name if self.project.containers(name) else "db1"
        place = self._plan.places.get(name)
        mounts = {DATABASE_FILES: str(place or self.project.make_volume(f"{RUN}{name}", VOLUME))}
        return self._clone(template, Differences(number=1, aliases=[f"{RUN}{name}"], mounts=mounts), name)

    def _clone(self, template: str, differences: Differences, service: str = "") -> str:
        containers = self.project.containers(template)
        if not containers:
            raise UsageError(
                f"the project {self.project.name} has no container of {template}, which a run needs one like;"
                " start the system with `make up`"
            )
        named = dataclasses.replace(differences, service=f"{RUN}{service or template}")
        return self.project.clone(containers[0].attrs, named)


def _open_when_ready(settings: Settings) -> list[Database]:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            return open_databases(settings)
        except DatabaseFault as fault:
            if time.monotonic() > deadline or not fault.transient:
                raise
        time.sleep(_POLL_SECONDS)
