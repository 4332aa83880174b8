"""The databases of an experiment's runs: names, marks, addresses, and the queries of the experiment.

A mark permits the queue manager to dispatch. It is the database's comment, which every session of the server can read;
only the owner, the controller, sets it."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit, urlunsplit

from core.crew import RUN_DATABASE, database_name
from core.records import JobState
from core.settings import DatabaseAddress, Settings
from sql.connection import Connection
from sql.interface import QUERIES, implemented
from sql.timeline import OpCalls
from sql.workers import LIVE_SECONDS

_MARK = re.compile(r"run on ([0-9]{1,3}) databases(?:, hosts ([A-Za-z0-9._,-]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMark:
    """The facts about a run that the queue manager needs."""

    run: str
    databases: int
    hosts: Sequence[str] = ()  # as `Settings.hosts`, in any order

    def __str__(self) -> str:
        """The comment of the database."""
        return f"run on {self.databases} databases" + (f", hosts {','.join(self.hosts)}" if self.hosts else "")


def read_mark(database: str, comment: str) -> RunMark | None:
    """The mark of a database by its name and comment; None if it has none."""
    name, mark = RUN_DATABASE.fullmatch(database), _MARK.fullmatch(comment)
    if name is None or mark is None:
        return None
    return RunMark(run=name[1], databases=int(mark[1]), hosts=tuple(mark[2].split(",")) if mark[2] else ())


def run_settings(settings: Settings, mark: RunMark) -> Settings:
    """Settings of a system's process for a run: the run's databases on the first servers, under the servers' names."""
    there = tuple(
        DatabaseAddress(name=address.name, url=_in_database(address.url, database_name(mark.run, number)))
        for number, address in enumerate(settings.databases[: mark.databases], start=1)
    )
    return dataclasses.replace(settings, databases=there, run=mark.run, hosts=tuple(mark.hosts))


def _in_database(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def over_among(conn: Connection, jobs: Sequence[uuid.UUID]) -> dict[uuid.UUID, float]:
    """The jobs of these that are in this database and over, each with the database's clock now (seconds since the
    epoch). Jobs that are being deleted are omitted: their traces are no longer needed."""
    rows = QUERIES["states_of_jobs"].run(conn, jobs=[str(job) for job in jobs])
    return {row.id: row.now for row in rows if JobState(row.state).over and row.state != JobState.DELETING.value}


def recorders(conn: Connection, job: uuid.UUID) -> dict[uuid.UUID, float]:
    """Incarnations of live workers that have done tasks of the job, each with the end of its last one."""
    rows = QUERIES["recorders_of_job"].run(conn, job=job, seconds=LIVE_SECONDS)
    return {row.incarnation: row.last for row in rows}


def marked_runs(conn: Connection) -> list[RunMark]:
    """The runs whose databases are marked."""
    marks = (read_mark(row.name, row.comment) for row in QUERIES["run_databases"].run(conn))
    return [mark for mark in marks if mark is not None]


def known_runs(conn: Connection) -> list[str]:
    """Every run that has a database on this server, marked or not."""
    names = (RUN_DATABASE.fullmatch(row.name) for row in QUERIES["run_databases"].run(conn))
    return [name[1] for name in names if name is not None]


def set_mark(conn: Connection, run: str, mark: RunMark | None) -> None:
    """Set the mark of the run's database on the first server, or remove it. Run it as its owner."""
    name = database_name(run, 1)
    assert RUN_DATABASE.fullmatch(name)
    text = "NULL" if mark is None else f"'{mark}'"
    conn.execute(f"COMMENT ON DATABASE {name} IS {text}".replace("%", "%%"))


def managed(conn: Connection, run: str) -> bool:
    """Whether a queue manager is connected to the run's database on the first server."""
    return bool(QUERIES["run_managed"].run(conn, database=database_name(run, 1)).scalar_one())


class QueueDepth(NamedTuple):
    """Number of tasks at a moment."""

    phase: str
    pending: int
    dispatched: int
    running: int


class Activity(NamedTuple):
    """Commits and rows of a database since its server started."""

    at: float
    commits: int
    rows: int


class PhaseSpan(NamedTuple):
    """A phase that has ended; times in seconds since the epoch, and seconds stopped in between."""

    phase: str
    started: float
    finished: float
    stopped: float


class TaskSpan(NamedTuple):
    """A task that is done."""

    worker: str
    slot: int
    phase: str
    claimed: float
    finished: float


class IndexHosts(NamedTuple):
    """Number of index tasks that this worker did of items that this host had written or read before."""

    worker: str
    written_on: str
    tasks: int


class Heavy(NamedTuple):
    """Number of items inside a loose file, and their bytes."""

    items: int
    bytes: int


class Need(NamedTuple):
    """A loose file, by its path relative to the source: bytes of space for itself, and for everything extracted from
    it."""

    path: memoryview
    itself: int
    inside: int


class JobTimes(NamedTuple):
    """A job that has ended; times in seconds since the epoch, and seconds that are subtracted from its elapsed."""

    first_claim: float
    finished: float
    stopped: float


@dataclass(frozen=True, slots=True)
class CallSecond(OpCalls):
    """Calls of one op with their phase and second."""

    second: int
    phase: str


class _Runs(Protocol):
    def queue_now(self, conn: Connection, *, job: uuid.UUID) -> QueueDepth: ...
    def activity_now(self, conn: Connection) -> Activity: ...
    def clock_now(self, conn: Connection) -> float: ...
    def phase_spans(self, conn: Connection, *, job: uuid.UUID) -> list[PhaseSpan]: ...
    def task_spans(self, conn: Connection, *, job: uuid.UUID) -> list[TaskSpan]: ...
    def index_hosts(self, conn: Connection, *, job: uuid.UUID) -> list[IndexHosts]: ...
    def heaviest_files(self, conn: Connection, *, job: uuid.UUID, most: int) -> list[Heavy]: ...
    def loose_needs(self, conn: Connection, *, job: uuid.UUID) -> Iterator[Need]: ...
    def job_times(self, conn: Connection, *, job: uuid.UUID) -> JobTimes: ...
    def call_seconds(self, conn: Connection, *, job: uuid.UUID) -> list[CallSecond]: ...


RUNS: _Runs = implemented(_Runs)
