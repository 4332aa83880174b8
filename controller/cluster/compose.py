"""The cluster of a system that runs under Compose: its queue manager and workers are containers (docs/containers.md)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from docker.models.containers import Container

from controller.cluster.container_stats import StatsSampler
from controller.cluster.containers import Project, engine_faults, environment_of, host_name, number_of, remove
from controller.versions import own_version, refuse_other_versions
from core.errors import SystemFault, UsageError
from core.settings import Settings
from sql.session import Database
from sql.workers import WorkerRow, list_workers

START_SECONDS = 90.0  # for the workers to register
SCALE_GRACE_SECONDS = 60.0
LOOK_SECONDS = 2.0  # between two looks at the containers
STARTS_ALLOWED = 5  # of one container, while a job runs
_POLL_SECONDS = 0.2
_PARALLEL = 8
_TENDED = ("queue_manager", "worker")


class ComposeCluster:
    """The queue manager and the workers of the Compose system that runs; it must have been started (`make up`).

    Entering it brings `workers` workers (None: as many as there are) of `slots` slots (None: as they are), waits until
    each has registered with every database, and refuses another version than this one. Leaving it leaves the
    system as it is: `make down` ends that. `settings` come from `reach_compose`; `env` has DOCKER_HOST and
    COMPOSE_PROJECT_NAME.
    """

    def __init__(
        self,
        settings: Settings,
        databases: Sequence[Database],
        *,
        workers: int | None = None,
        slots: int | None = None,
        env: Mapping[str, str],
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._settings = settings
        self._databases = databases
        self._wanted = workers
        self._slots = slots
        self._say = say
        self._project = Project(env)
        self._sampler = StatsSampler(self._project.containers)
        self._sampling = False
        self._starts: dict[str, int] = {}  # by us, by the container's name
        self._restarts: dict[str, int] = {}  # by the engine, when we first looked
        self._next_look = 0.0
        self._lock = threading.Lock()

    @property
    def workers(self) -> int:
        """Worker containers that there are."""
        return len(self._project.containers("worker"))

    @property
    def slots(self) -> int:
        """Slots of each of them."""
        return int(environment_of(self._template().attrs).get("EDBENCH_SLOTS") or 4)

    def start(self) -> None:
        """Bring the workers that are wanted, and wait for them.

        Raises UsageError when the system does not run, sees another storage root or is of another version, SystemFault
        when a container will not stay up.
        """
        self._check_storage(self._settings.storage)
        self.scale(self._wanted if self._wanted is not None else self.workers)
        for container in self._tended():
            self._restarts[str(container.name)] = int(container.attrs.get("RestartCount", 0))
        self._wait_for_workers()
        self._sampler.start()
        self._sampling = True

    def stop(self, grace_seconds: float = 30.0) -> None:
        """Let go of the system, which goes on running: others may use it."""
        if self._sampling:
            self._sampling = False
            self._sampler.stop()
        self._project.close()

    def scale(self, workers: int) -> None:
        """Have so many worker containers; those no longer wanted finish what they are at first."""
        with self._lock:
            template = self._template().attrs
            present = self._project.containers("worker")
            unfit = [c for c in present if self._unfit(c)]
            kept = [c for c in present if c not in unfit][:workers]
            numbers = {number_of(c) for c in kept}
            leaving = [c for c in present if c not in kept]
            if leaving:
                self._say(f"{len(leaving)} worker containers leave")
            with ThreadPoolExecutor(_PARALLEL) as pool:
                list(pool.map(lambda c: remove(c, SCALE_GRACE_SECONDS), leaving))
            missing = [n for n in range(1, workers + len(numbers) + 1) if n not in numbers][: workers - len(kept)]
            env = {} if self._slots is None else {"EDBENCH_SLOTS": str(self._slots)}
            for number in missing:
                self._project.clone(template, number, env)
            self._wanted = workers

    def check(self) -> None:
        """Start again what stands still. Raises SystemFault with its last line when a container will not stay up."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        for container in self._tended():
            name = str(container.name)
            if container.status in ("exited", "created", "dead"):
                self._starts[name] = self._starts.get(name, 0) + 1
                with engine_faults():
                    container.start()
            again = int(container.attrs.get("RestartCount", 0)) - self._restarts.setdefault(name, 0)
            if max(again, 0) + self._starts.get(name, 0) > STARTS_ALLOWED:
                raise SystemFault(
                    f"container {name} does not stay up: {_last_words(container)}; see `docker logs {name}`"
                )

    def pids(self) -> dict[str, int]:
        """Process ids on the engine's host by container name, of those that run now."""
        return {
            str(c.name): int(c.attrs["State"]["Pid"]) for c in self._tended() if c.attrs["State"].get("Running") is True
        }

    def containers_stats(self) -> list[dict[str, Any]]:
        """What each container of the system used since `start`, for a result."""
        return self._sampler.uses()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _tended(self) -> list[Container]:
        return [c for service in _TENDED for c in self._project.containers(service)]

    def _template(self) -> Container:
        """The container that new workers are like."""
        present = self._project.containers("worker")
        if not present:
            raise UsageError(
                f"the project {self._project.name} has no worker container to scale; start it with `make up`"
            )
        return present[0]

    def _unfit(self, container: Container) -> bool:
        """Whether it stands still for good, or has another number of slots than wanted."""
        slots = environment_of(container.attrs).get("EDBENCH_SLOTS")
        return container.status == "dead" or (self._slots is not None and slots != str(self._slots))

    def _check_storage(self, root: Path) -> None:
        """Raises UsageError unless this process and the containers see one directory as the storage root."""
        try:
            ours = os.stat(root).st_ino
        except OSError as error:
            raise UsageError(
                f"the containers' storage root {root} is not here ({error.strerror}): mount it at the same path,"
                " or run the command in the system: `docker compose exec controller edbench …`"
            ) from error
        with engine_faults():
            status, output = self._project.one("controller").exec_run(["stat", "-L", "-c", "%i", str(root)])
        if status != 0 or output.strip() != str(ours).encode():
            raise UsageError(
                f"{root} is another directory here than in the containers; mount the filer at the same path on all"
                " hosts (EDBENCH_MOUNT), or run the command in the system: `docker compose exec controller edbench …`"
            )

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            hosts = {host_name(c) for c in self._project.containers("worker")}
            missing: set[str] = set()
            for database in self._databases:
                live = _live(database)
                refuse_other_versions([w for w in live if w.host in hosts], own_version())
                missing |= hosts - {w.host for w in live}
            if not missing:
                return
            self.check()
            if time.monotonic() > deadline:
                raise SystemFault(
                    f"{len(missing)} of {len(hosts)} worker containers have not registered within {START_SECONDS:.0f} s;"
                    " see `docker compose logs worker`"
                )
            time.sleep(_POLL_SECONDS)


def _live(database: Database) -> list[WorkerRow]:
    with database.transaction() as conn:
        return [worker for worker in list_workers(conn) if worker.live]


def _last_words(container: Container) -> str:
    with engine_faults():
        lines = container.logs(tail=1).decode("utf-8", "replace").strip()
    return lines or "it said nothing"
