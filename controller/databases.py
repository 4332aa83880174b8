"""The installation's databases, and finding a job in them by its id."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import UsageError
from core.records import Job
from core.settings import Settings
from sql import jobs as ledger_jobs
from sql.jobs import GroupRow, JobSummary
from sql.migrate import migrate
from sql.session import Database

LAST = "last"


EXPERIMENT_KEY = 0x65646265_6E636803  # "edbench" 3: held on every database while an experiment has the system
_RELEASE_SECONDS = 2.0  # for a database to notice that a session has ended


@dataclass(frozen=True, slots=True)
class JobHandle:
    """A job and the database that has it."""

    database: Database
    job: Job

    @property
    def id(self) -> uuid.UUID:
        """The job's id."""
        return self.job.id


@dataclass(frozen=True, slots=True)
class Jobs:
    """The job or group that an id means: one job, or a group's jobs in order of their databases."""

    each: tuple[JobHandle, ...]
    home: Database  # has the group's row
    group: GroupRow | None = None  # None: one job by itself

    @property
    def id(self) -> uuid.UUID:
        """The group's id, or the job's."""
        return self.each[0].id if self.group is None else self.group.id

    @property
    def source(self) -> bytes:
        """The source that the user named; a job of a group may read a part of it, or a copy."""
        return self.each[0].job.source if self.group is None else self.group.source

    @property
    def copied(self) -> bool:
        """Whether the jobs read copies of the source, which are removed when all jobs are over."""
        return self.group is not None and self.group.source_copies > 1


def alone(handle: JobHandle) -> Jobs:
    """Return a job that belongs to no group."""
    return Jobs((handle,), handle.database)


def open_databases(settings: Settings, *, application: str = "edbench", connections: int = 2) -> list[Database]:
    """Open all databases of the settings, migrated to this version's schema, with a pool of `connections` each and as
    many again on demand. Raises UsageError, DatabaseFault."""
    databases = [
        Database(address.name, address.url, application=application, pool_size=connections)
        for address in settings.databases
    ]
    for database in databases:
        migrate(database)
    return databases


def first_databases(databases: Sequence[Database], number: int) -> list[Database]:
    """Return the first `number` databases of the installation; raises UsageError if there are fewer."""
    if len(databases) < number:
        raise UsageError(
            f"--databases is {number}, but EDBENCH_DATABASES lists {len(databases)}; add the missing ones",
            field="databases",
        )
    return list(databases[:number])


def refuse_experiment(database: Database) -> None:
    """Raise UsageError while an experiment uses the system of this database: no job may be created meanwhile. One that
    has just ended may hold it for a moment."""
    deadline = time.monotonic() + _RELEASE_SECONDS
    while True:
        with database.transaction() as conn:
            held = "SELECT pg_try_advisory_xact_lock_shared(%(key)s)"
            if conn.execute(held, {"key": EXPERIMENT_KEY}).scalar_one():
                return
        if time.monotonic() > deadline:
            raise UsageError("an experiment uses this system; wait until it has ended")
        time.sleep(_RELEASE_SECONDS / 20)


def newest_jobs(databases: Sequence[Database], limit: int = 1_000) -> list[tuple[Database, JobSummary]]:
    """Return jobs of all databases, newest first."""
    jobs: list[tuple[Database, JobSummary]] = []
    for database in databases:
        jobs += [(database, summary) for summary in database.ask(ledger_jobs.list_jobs, limit)]
    jobs.sort(key=lambda pair: pair[1].created_at, reverse=True)
    return jobs[:limit]


def find_job(databases: Sequence[Database], reference: str) -> JobHandle:
    """Return the job with this id or unambiguous beginning of one, or the newest for `last`; raises UsageError."""
    if reference.strip().lower() == LAST:
        newest = newest_jobs(databases, 1)
        if not newest:
            raise UsageError("there is no job yet; `edbench discover DIR` creates one")
        return JobHandle(newest[0][0], newest[0][1].job)
    if id_digits(reference) is None:
        raise UsageError(f"{reference!r} is not the beginning of a job id; see `edbench job list`")
    handles = jobs_beginning(databases, reference)
    if not handles:
        raise UsageError(f"there is no job {reference}; see `edbench job list`")
    if len(handles) > 1:
        raise UsageError(f"several jobs begin with {reference}; give more digits of the id")
    return handles[0]


def id_digits(reference: str) -> str | None:
    """Return the digits of an id, or of the beginning of one; hyphens and case do not matter. None for other text."""
    digits = reference.strip().replace("-", "").lower()
    return digits if 0 < len(digits) <= 32 and not set(digits) - set("0123456789abcdef") else None


def jobs_beginning(databases: Sequence[Database], reference: str) -> list[JobHandle]:
    """Return the jobs whose id begins so."""
    if (digits := id_digits(reference)) is None:
        return []
    each = ((database, database.ask(ledger_jobs.jobs_beginning, digits)) for database in databases)
    return [JobHandle(database, job) for database, jobs in each for job in jobs]
