"""Exclusive use of a system by one experiment: no job and no other experiment runs meanwhile."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from controller.databases import EXPERIMENT_KEY, newest_jobs, open_databases
from core.crew import Make, Remove
from core.errors import UsageError
from core.records import JobState
from core.settings import Settings
from experiments.crew.orders import Crew
from sql import runs
from sql.runs import RunMark, run_settings
from sql.session import Database

_LOOK_SECONDS = 1.0
_AT_REST = (JobState.PAUSED, JobState.SUSPENDED)


@contextmanager
def held_system(crew: Crew, databases: Sequence[Database], wait: float, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the system during the block; first remove databases that a killed experiment left. Raises UsageError if
    another experiment is running or a job still runs after `wait` seconds, SystemFault."""
    with contextlib.ExitStack() as locks:
        for database in databases:
            if not locks.enter_context(database.listen()).try_lock(EXPERIMENT_KEY):
                raise UsageError("another experiment uses this system; wait until it has ended")
        _await_jobs(databases, wait, say)
        left = _left(databases)
        for run in left:
            say(f"removing the leftovers of run {run}")
            crew.provision(Remove(run=run, databases=len(databases)))
        yield


def _await_jobs(databases: Sequence[Database], wait: float, say: Callable[[str], None]) -> None:
    """Wait until no job runs; no other starts, since the system is held. Raises UsageError."""
    deadline, reported = time.monotonic() + wait, ""
    while True:
        try:
            return _refuse_busy(databases)
        except UsageError as busy:
            if time.monotonic() >= deadline:
                raise
            if str(busy) != reported:
                reported = str(busy)
                say(f"waiting: {reported}")
        time.sleep(_LOOK_SECONDS)


def _refuse_busy(databases: Sequence[Database]) -> None:
    for database, job in newest_jobs(databases):
        if not (job.job.state.over or job.job.state in _AT_REST):
            raise UsageError(
                f"job {job.job.id} in {database.name} is {job.job.state}, but an experiment needs the system "
                f"exclusively; wait for it (--wait), or `edbench job pause {job.job.id}`"
            )


def _left(databases: Sequence[Database]) -> list[str]:
    found: set[str] = set()
    for database in databases:
        with database.transaction() as conn:
            found |= set(runs.known_runs(conn))
    return sorted(found)


@contextmanager
def run_databases(crew: Crew, system: Settings, databases: int) -> Iterator[tuple[str, Settings, list[Database]]]:
    """Create databases on the first so many servers and remove them at the end: yield the run's id, settings with them,
    and the databases with the schema. Raises SystemFault."""
    run = secrets.token_hex(8)
    opened: list[Database] = []
    crew.provision(Make(run=run, databases=databases))
    try:
        settings = run_settings(system, RunMark(run=run, databases=databases))
        opened = open_databases(settings)
        yield run, settings, opened
    finally:
        for database in opened:
            database.dispose()
        crew.provision(Remove(run=run, databases=databases))
