"""A system under Compose that an experiment has for itself: its own queue manager and workers stand still meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from docker.models.containers import Container

from controller.cluster.containers import Project, engine_faults
from controller.cluster.run_containers import GRACE_SECONDS, clear_up
from controller.databases import newest_jobs
from core.errors import SystemFault, UsageError
from core.records import JobState
from sql.session import Database

LOCK_KEY = 0x65646265_6E636803  # "edbench" 3: held on the first database for as long as an experiment has the system
_STILL = ("queue_manager", "worker")
_AT_REST = (JobState.PAUSED, JobState.SUSPENDED)
_PARALLEL = 8


@contextmanager
def quiet_system(project: Project, databases: Sequence[Database], say: Callable[[str], None]) -> Iterator[None]:
    """Stops the system's queue manager and workers for as long as the block lasts, then starts them as they were.

    What a killed experiment left is removed before. Raises UsageError while another experiment or a job runs,
    SystemFault.
    """
    with databases[0].listen() as held:
        if not held.try_lock(LOCK_KEY):
            raise UsageError("another experiment uses this system; wait until it has ended")
        _refuse_busy(databases)
        clear_up(project)
        running = [c for service in _STILL for c in project.containers(service) if c.status == "running"]
        say(f"{len(running)} containers of the system are paused during the experiment")
        try:
            _each(running, lambda container: container.stop(timeout=int(GRACE_SECONDS)))
            yield
        finally:
            _undisturbed(lambda: _give_back(project, running))


def _give_back(project: Project, running: Sequence[Container]) -> None:
    try:
        clear_up(project)
    finally:
        _each(running, lambda container: container.start())


def _refuse_busy(databases: Sequence[Database]) -> None:
    for database, job in newest_jobs(databases):
        if not (job.job.state.over or job.job.state in _AT_REST):
            raise UsageError(
                f"job {job.job.id} in {database.name} is {job.job.state}, and an experiment needs the system for itself;"
                f" wait for it, or `edbench job pause {job.job.id}`"
            )


def _each(containers: Sequence[Container], act: Callable[[Container], None]) -> None:
    def one(container: Container) -> None:
        with engine_faults():
            act(container)

    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(one, containers))


def _undisturbed(act: Callable[[], None]) -> None:
    """In a thread that the interpreter waits for: a second Ctrl-C does not leave it half done."""
    faults: list[SystemFault] = []

    def run() -> None:
        try:
            act()
        except SystemFault as fault:
            faults.append(fault)

    thread = threading.Thread(target=run, name="give back", daemon=False)
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
