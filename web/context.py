"""The installation that a web application serves."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller.databases import Jobs
from controller.jobs.groups import find, find_discovered
from controller.search.opened import Indexes
from core.clock import Clock, SystemClock
from core.errors import DatabaseFault, UsageError
from core.settings import Settings
from sql.session import Database
from web.background import Activities, BackgroundTask, BackgroundTasks, Measurements
from web.token import Door

_HEALTH_SECONDS = 1.0
_SILENT_SECONDS = 5.0  # after which a database that was asked counts as one that does not answer


class Runner:
    """Starts workers for jobs if this server does so (`web.runs`). This base class starts none: others run the
    workers."""

    creating = True  # jobs can be created and resumed here

    def room(self) -> int:
        """Number of slots, over all workers, that can still be started."""
        return 0

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Reserve workers for a job that the block creates or resumes. Raises FieldErrors if they cannot be started
        now."""
        return nullcontext()

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Start workers for a job or group; returns at once."""

    def tends(self, identity: uuid.UUID) -> bool:
        """Whether a living process is known to process this job or group."""
        return True

    def problem(self, identity: uuid.UUID) -> str | None:
        """The reason, in one line, why workers could not be started for this job or group; None without a problem."""
        return None


class DatabaseHealth:
    """Whether the databases answer. They are asked at most once a second and by one request at a time, because `health` needs no
    token: a flood of requests must not take their connections."""

    def __init__(self, databases: Sequence[Database], now: Callable[[], float] = time.monotonic) -> None:
        self._databases = databases
        self._now = now
        self._lock = threading.Lock()
        self._asked = -math.inf
        self._asking: tuple[str, float] | None = None  # the database that is being asked, and since when
        self._states: dict[str, str] = {}

    def states(self) -> dict[str, str]:
        """`ok` or the problem, by database."""
        if self._lock.acquire(timeout=0 if self._states else _SILENT_SECONDS):  # others get the latest answer meanwhile
            try:
                if self._now() - self._asked >= _HEALTH_SECONDS:
                    self._states = {database.name: self._state_of(database) for database in self._databases}
                    self._asked = self._now()
            finally:
                self._asking = None
                self._lock.release()
        name, since = self._asking or ("", math.inf)
        silent = self._now() - since
        return self._states | (
            {name: f"database {name}: no answer for {silent:.0f} s"} if silent >= _SILENT_SECONDS else {}
        )

    def _state_of(self, database: Database) -> str:
        self._asking = (database.name, self._now())
        try:
            with database.transaction() as conn:
                conn.execute("SELECT 1")
        except DatabaseFault as fault:
            return str(fault)
        return "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The page that a server shows instead of the jobs."""

    path: str
    title: str
    source: Any  # source of the page's values


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """Attached services, open databases, and the access token."""

    settings: Settings
    databases: Sequence[Database]
    embedded: bool  # this process starts services and workers
    runner: Runner
    door: Door
    env: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    corpora: tuple[Path, ...] = ()  # more directories that may contain sources
    productions: tuple[Path, ...] = ()  # more directories that may contain the output of jobs
    hash_lists: tuple[Path, ...] = ()  # more directories with lists of known software files
    targets: tuple[Path, ...] = ()  # more directories that storage tests may use
    measurements: Measurements | None = None  # None where this server starts none
    shown: Shown | None = None  # the work of the command that this server belongs to, if it is no job
    results: Path | None = None  # storage root of the results, if it is not that of the jobs
    health: DatabaseHealth = field(init=False)
    indexes: Indexes = field(init=False)  # shared by all searches
    background_tasks: BackgroundTasks = field(init=False, default_factory=BackgroundTasks)
    activities: Activities = field(init=False, default_factory=Activities)

    def __post_init__(self) -> None:
        object.__setattr__(self, "indexes", Indexes(self.settings))
        object.__setattr__(self, "health", DatabaseHealth(self.databases))

    @property
    def results_root(self) -> Path:
        """The storage root that contains the results."""
        return self.results or self.settings.storage

    def refuse_measuring(self) -> None:
        """Raise UsageError while a measurement runs, because it would be distorted."""
        if self.measurements is not None:
            self.measurements.refuse()

    def during(self, what: str) -> AbstractContextManager[None]:
        """Keep measurements from starting during the block. Raises UsageError while one runs."""
        return self.activities.during(what, self.refuse_measuring)

    def start_background(self, job: uuid.UUID, kind: str, work: Callable[[], Any]) -> BackgroundTask:
        """Start a background task. Raises UsageError while another one or a measurement runs."""
        with self.during(f"{kind} of job {job} is starting"):
            return self.background_tasks.start(job, kind, work)

    def find(self, reference: str) -> Jobs:
        """The job or group with this id, unambiguous id prefix, or `last`. Raises UsageError."""
        self._refuse_none()
        return find(self.databases, reference)

    def find_discovered(self, reference: str) -> Jobs:
        """Like `find`, among discoveries; `last` is the newest discovery. Raises OtherType for a job of another
        type."""
        self._refuse_none()
        return find_discovered(self.databases, reference)

    def _refuse_none(self) -> None:
        if not self.databases:
            raise UsageError("there is no job yet: the experiment starts its databases with the next run")
