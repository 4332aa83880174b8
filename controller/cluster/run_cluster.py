"""Queue manager and workers of one run of an experiment, in containers of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

from docker.models.containers import Container

from controller.cluster.container_stats import StatsSampler
from controller.cluster.containers import remove
from controller.cluster.run_containers import GRACE_SECONDS, RUN, RunServices, run_containers
from controller.cluster.tending import Tender, wait_for_workers
from sql.session import Database

_MANAGER_GRACE_SECONDS = 10.0  # it stores what the workers sent last
_PARALLEL = 8


class RunCluster:
    """Entering it starts `workers` workers, waits until all have registered, and only then starts the queue manager:
    so every worker is there when the first task is sent. Leaving it ends them; the run's services stay."""

    def __init__(self, services: RunServices, databases: Sequence[Database], workers: int) -> None:
        self._services = services
        self._databases = databases
        self._wanted = workers
        self._tender = Tender(lambda: [*self._workers(), *self._managers()])
        self._sampler = StatsSampler(lambda: run_containers(services.project))
        self._uses: list[dict[str, Any]] = []

    @property
    def uses(self) -> list[dict[str, Any]]:
        """What each container of the run used from the start of the queue manager to the end; empty before the end."""
        return self._uses

    def check(self) -> None:
        """Start again what stands still. Raises SystemFault when a container will not stay up."""
        self._tender.check()

    def __enter__(self) -> Self:
        with ThreadPoolExecutor(_PARALLEL) as pool:
            list(pool.map(lambda number: self._services.clone("worker", number), range(1, self._wanted + 1)))
        self._tender.begin()
        wait_for_workers(self._workers, self._databases, self.check)
        self._sampler.start()
        try:
            self._services.clone("queue_manager", 1)
        except BaseException:
            self._sampler.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sampler.stop()
        self._uses = self._sampler.uses()
        _end(self._workers(), GRACE_SECONDS)
        _end(self._managers(), _MANAGER_GRACE_SECONDS)

    def _workers(self) -> list[Container]:
        return self._services.project.containers(f"{RUN}worker")

    def _managers(self) -> list[Container]:
        return self._services.project.containers(f"{RUN}queue_manager")


def _end(containers: Sequence[Container], grace_seconds: float) -> None:
    stop: Callable[[Container], None] = lambda container: remove(container, grace_seconds)  # noqa: E731
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(stop, containers))
