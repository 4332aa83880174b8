"""Queries for a job's figures."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from core.records import Phase
from sql.connection import Connection
from sql.interface import implemented


class Worker(NamedTuple):
    """A worker that was live while the job ran."""

    incarnation: uuid.UUID
    box: str  # features that its sandbox lacked
    frames_lost: int
    complete: bool | None  # its calls are stored up to the job's end; None while it has no end
    stopped: bool
    due: bool  # it may still send calls


class Span(NamedTuple):
    """Begin and end in seconds since the epoch; None if it has not happened yet."""

    started: float | None
    finished: float | None


class Stop(NamedTuple):
    """A pause or a suspension."""

    state: str
    reason: str | None
    seconds: float
    lasting: bool


class JobLabels(NamedTuple):
    """The labels of a job, as they were stored."""

    labels: list[str] | None
    settled: bool | None  # it has been over for a while; None: it is not over


class Crews(NamedTuple):
    """Number of workers planned, of workers that did tasks, and a text on those that left before the end."""

    planned: int
    worked: int
    lost: str | None


class Totals(NamedTuple):
    """Number of items of a job."""

    items: int
    containers: int
    loose_files: int


@dataclass(frozen=True)
class ItemCount:
    """Number of items that have something in common."""

    name: str
    items: int
    bytes: int


@dataclass(frozen=True)
class TextCount:
    """Number of items with a text state."""

    name: str
    items: int
    characters: int
    pages: int


@dataclass(frozen=True)
class ExceptionCount:
    """Number of exceptions of one code at one level; `missing`: children missing because of them, where known."""

    code: str
    level: str
    exceptions: int
    missing: int


@dataclass(frozen=True)
class Children:
    """Children over all containers; expected must be emitted and failed together. `remainder_unknown`: number of
    containers that were cut short, where an unknown number of children is missing."""

    expected: int
    emitted: int
    failed: int
    remainder_unknown: int = 0


class Violation(NamedTuple):
    """A container whose counts do not add up."""

    id: uuid.UUID
    container_path: list[str]
    announced: int | None
    emitted: int
    failed: int
    rows: int  # items that name it as their parent

    def line(self) -> str:
        """One line for people."""
        expected = "?" if self.announced is None else f"{self.announced:,}"
        return (
            f"{' / '.join(self.container_path)}: expected {expected}, emitted {self.emitted:,},"
            f" failed {self.failed:,}, rows {self.rows:,}"
        )


class WireReading(NamedTuple):
    """Bytes read over the wire until a second."""

    source: str
    second: int
    read_bytes: int
    storage: bool
    points: list[str] | None


class PhaseTime(NamedTuple):
    """Begin and end of a phase in seconds since the epoch; the end is now if it has not ended."""

    phase: str
    start: float
    finish: float


class StateCount(NamedTuple):
    """Number of jobs of a type in a state."""

    type: str
    state: str
    jobs: int


class _Figures(Protocol):
    def workers_of_job(self, conn: Connection, *, job: uuid.UUID, seconds: float) -> list[Worker]: ...
    def server_version(self, conn: Connection) -> str: ...
    def job_span(self, conn: Connection, *, job: uuid.UUID) -> Span: ...
    def job_held(self, conn: Connection, *, job: uuid.UUID) -> Span: ...
    def stops_of_job(self, conn: Connection, *, job: uuid.UUID) -> list[Stop]: ...
    def job_labels(self, conn: Connection, *, job: uuid.UUID, settle: float) -> JobLabels | None: ...
    def store_labels(self, conn: Connection, *, job: uuid.UUID, labels: str) -> None: ...
    def outages_of_job(self, conn: Connection, *, job: uuid.UUID) -> float: ...
    def workers_changed(self, conn: Connection, *, job: uuid.UUID, seconds: float) -> Crews: ...
    def count_items(self, conn: Connection, *, job: uuid.UUID) -> Totals: ...
    def count_kinds(self, conn: Connection, *, job: uuid.UUID) -> list[ItemCount]: ...
    def count_media_types(self, conn: Connection, *, job: uuid.UUID) -> list[ItemCount]: ...
    def count_texts(self, conn: Connection, *, job: uuid.UUID) -> list[TextCount]: ...
    def count_exceptions(self, conn: Connection, *, job: uuid.UUID) -> list[ExceptionCount]: ...
    def children_totals(self, conn: Connection, *, job: uuid.UUID) -> Children: ...
    def children_violations(self, conn: Connection, *, job: uuid.UUID, limit: int) -> list[Violation]: ...
    def wire_reads(self, conn: Connection, *, first: int, last: int) -> list[WireReading]: ...
    def phase_times(self, conn: Connection, *, job: uuid.UUID) -> list[PhaseTime]: ...
    def bytes_by_phase(self, conn: Connection, *, job: uuid.UUID, op: int) -> dict[Phase, int]: ...
    def jobs_meanwhile(self, conn: Connection, *, jobs: Sequence[str], first: float, last: float) -> int: ...
    def jobs_by_state(self, conn: Connection) -> list[StateCount]: ...
    def return_orphans(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def lock_job(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def keep_job(self, conn: Connection, *, job: uuid.UUID) -> None: ...
    def lock_whole_job(self, conn: Connection, *, job: uuid.UUID) -> None: ...


FIGURES: _Figures = implemented(_Figures)
