"""What an experiment reads of its runs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sql.face import face
from sql.faces.calls import OpCalls

if TYPE_CHECKING:
    from sqlalchemy import Connection


class QueueDepth(NamedTuple):
    """Tasks at a moment."""

    phase: str
    pending: int
    dispatched: int
    running: int


class Activity(NamedTuple):
    """Of a database since its server started."""

    at: float
    commits: int
    rows: int


class Effort(NamedTuple):
    """All workers' CPU seconds and seconds waited for a CPU, the mean time of their last reports, and the clock now."""

    cpu: float
    waited: float
    seen: float
    now: float


class PhaseSpan(NamedTuple):
    """Of a phase that has ended; seconds since the epoch, and seconds stopped in between."""

    phase: str
    started: float
    finished: float
    stopped: float


class TaskSpan(NamedTuple):
    """Of a task that is done."""

    worker: str
    slot: int
    phase: str
    claimed: float
    finished: float


class IndexHosts(NamedTuple):
    """Index tasks that this worker did of items that this host had written or read before."""

    worker: str
    written_on: str
    tasks: int


class Heavy(NamedTuple):
    """Items inside a loose file, and their bytes."""

    items: int
    bytes: int


class Need(NamedTuple):
    """A loose file, by its path relative to the source: bytes of room for itself, and for what was taken out of it."""

    path: memoryview
    itself: int
    inside: int


class JobTimes(NamedTuple):
    """Of a job that has ended; seconds since the epoch, and seconds between that are taken off its elapsed."""

    first_claim: float
    finished: float
    stopped: float


@dataclass(frozen=True, slots=True)
class CallSecond(OpCalls):
    """And which."""

    second: int
    phase: str


class _Runs(Protocol):
    def queue_now(self, conn: Connection, *, job: uuid.UUID) -> QueueDepth: ...
    def activity_now(self, conn: Connection) -> Activity: ...
    def clock_now(self, conn: Connection) -> float: ...
    def workers_effort(self, conn: Connection, *, seconds: float) -> Effort: ...
    def phase_spans(self, conn: Connection, *, job: uuid.UUID) -> list[PhaseSpan]: ...
    def task_spans(self, conn: Connection, *, job: uuid.UUID) -> list[TaskSpan]: ...
    def index_hosts(self, conn: Connection, *, job: uuid.UUID) -> list[IndexHosts]: ...
    def heaviest_files(self, conn: Connection, *, job: uuid.UUID, most: int) -> list[Heavy]: ...
    def loose_needs(self, conn: Connection, *, job: uuid.UUID) -> Iterator[Need]: ...
    def job_times(self, conn: Connection, *, job: uuid.UUID) -> JobTimes: ...
    def call_seconds(self, conn: Connection, *, job: uuid.UUID) -> list[CallSecond]: ...


RUNS: _Runs = face(_Runs)
