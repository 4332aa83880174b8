"""The cluster of a system that runs under Compose: its queue manager and workers are containers (docs/containers.md)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from docker.models.containers import Container

from controller.cluster.container_stats import StatsSampler
from controller.cluster.containers import Differences, Project, environment_of, number_of, remove
from controller.cluster.filer_container import COMMAND, watching_container
from controller.cluster.run_containers import refuse_experiment
from controller.cluster.sight import check_storage, refuse_unseen_filer
from controller.cluster.tending import Tender, wait_for_workers
from controller.filer.emulated import Watch, watched_filer
from core.errors import UsageError
from core.settings import Settings
from sql.session import Database

SCALE_GRACE_SECONDS = 60.0
_PARALLEL = 8
FILER_WATCH = "filer-watch"
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
        # What the workers are to have; those that have something else are replaced.
        self._said = {"EDBENCH_FILER": settings.filer} | ({} if slots is None else {"EDBENCH_SLOTS": str(slots)})
        self._say = say
        self._project = Project(env)
        self._sampler = StatsSampler(self._project.containers)
        self._sampling = False
        self._tender = Tender(self._tended)
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

        Raises UsageError when the system does not run, an experiment has it, it sees another storage root or is of
        another version, SystemFault when a container will not stay up.
        """
        refuse_experiment(self._project)
        refuse_unseen_filer(self._settings)
        check_storage(self._project, self._settings.storage)
        self.scale(self._wanted if self._wanted is not None else self.workers)
        self._tender.begin()
        wait_for_workers(lambda: self._project.containers("worker"), self._databases, self.check)
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
            for number in missing:
                self._project.clone(template, Differences(number=number, env=self._said))
            self._wanted = workers

    def check(self) -> None:
        """Start again what stands still. Raises SystemFault with its last line when a container will not stay up."""
        self._tender.check()

    def pids(self) -> dict[str, int]:
        """Process ids on the engine's host by container name, of those that run now."""
        return {
            str(c.name): int(c.attrs["State"]["Pid"]) for c in self._tended() if c.attrs["State"].get("Running") is True
        }

    def watched_filer(self) -> AbstractContextManager[Watch]:
        """Watch the emulated filer of the workers, if any, while the block lasts: they share it where we cannot see it.

        Raises SystemFault.
        """
        if self._settings.filer == "none":
            return watched_filer(self._settings)
        return watching_container(self._project, self._start_watch)

    def _start_watch(self) -> str:
        template = self._project.one("controller").attrs
        env = {"EDBENCH_FILER": self._settings.filer}
        differences = Differences(number=os.getpid(), service=FILER_WATCH, env=env, command=COMMAND)
        return self._project.clone(template, differences)

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
        """Whether it stands still for good, or has another number of slots or another emulated filer than wanted."""
        theirs = environment_of(container.attrs)
        return container.status == "dead" or any(theirs.get(key, "") != value for key, value in self._said.items())
