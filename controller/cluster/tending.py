"""Keeps containers up while something runs in them, and waits until their workers have registered."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from docker.models.containers import Container

from controller.cluster.containers import engine_faults, host_name
from controller.versions import own_version, refuse_other_versions
from core.errors import SystemFault
from sql.session import Database
from sql.workers import WorkerRow, list_workers

START_SECONDS = 90.0  # for the workers to register
LOOK_SECONDS = 2.0  # between two looks at the containers
STARTS_ALLOWED = 5  # of one container, while a job runs
_POLL_SECONDS = 0.2


class Tender:
    """Starts again what stands still, and gives up on what will not stay up."""

    def __init__(self, containers: Callable[[], Sequence[Container]]) -> None:
        self._containers = containers
        self._starts: dict[str, int] = {}  # by us, by the container's name
        self._restarts: dict[str, int] = {}  # by the engine, when we first looked
        self._next_look = 0.0

    def begin(self) -> None:
        """Restarts up to now do not count."""
        for container in self._containers():
            self._restarts[str(container.name)] = int(container.attrs.get("RestartCount", 0))

    def check(self) -> None:
        """A look, if one is due. Raises SystemFault with its last line when a container will not stay up."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        for container in self._containers():
            name = str(container.name)
            if container.status in ("exited", "created", "dead"):
                self._starts[name] = self._starts.get(name, 0) + 1
                with engine_faults():
                    container.start()
            again = int(container.attrs.get("RestartCount", 0)) - self._restarts.setdefault(name, 0)
            if max(again, 0) + self._starts.get(name, 0) > STARTS_ALLOWED:
                raise SystemFault(
                    f"container {name} does not stay up: {last_words(container)}; see `docker logs {name}`"
                )


def wait_for_workers(
    workers: Callable[[], Sequence[Container]], databases: Sequence[Database], check: Callable[[], None]
) -> None:
    """Until each of the worker containers has registered with every database.

    Raises UsageError for a worker of another version, SystemFault when one does not come; what `check` raises.
    """
    deadline = time.monotonic() + START_SECONDS
    while True:
        hosts = {host_name(c) for c in workers()}
        missing: set[str] = set()
        for database in databases:
            live = _live(database)
            refuse_other_versions([w for w in live if w.host in hosts], own_version())
            missing |= hosts - {w.host for w in live}
        if not missing:
            return
        check()
        if time.monotonic() > deadline:
            raise SystemFault(
                f"{len(missing)} of {len(hosts)} worker containers have not registered within {START_SECONDS:.0f} s;"
                " see `docker compose logs worker`"
            )
        time.sleep(_POLL_SECONDS)


def _live(database: Database) -> list[WorkerRow]:
    with database.transaction() as conn:
        return [worker for worker in list_workers(conn) if worker.live]


def last_words(container: Container) -> str:
    """The last line of its log."""
    with engine_faults():
        lines = container.logs(tail=1).decode("utf-8", "replace").strip()
    return lines or "no output"
