"""A job over time, with what was observed meanwhile and what was imported of arrays. Times are seconds since the epoch."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sql.face import face
from sql.faces.calls import StepHistogram

if TYPE_CHECKING:
    from sqlalchemy import Connection

Values = Mapping[str, Any]  # what was observed, with keys of its kind (monitoring.observations)


class JobClock(NamedTuple):
    """First claim, end, start of a stop that still lasts, and now."""

    started: float | None
    finished: float | None
    stopped: float | None
    now: float


class PhaseClock(NamedTuple):
    """When a phase began and ended."""

    phase: str
    started: float
    finished: float | None


class Pause(NamedTuple):
    """When a job was stopped, in which state and why."""

    state: str
    reason: str | None
    started: float
    finished: float | None


class StepPercentiles(NamedTuple):
    """Calls of one op in a step, by its first second."""

    second: int
    op: int
    calls: int
    bytes: int
    errors: int
    total_ns: int
    max_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int


class OpTotal(NamedTuple):
    """Calls of one op so far."""

    op: int
    calls: int
    total_ns: int


class Tasks(NamedTuple):
    """Those that are not done, means over a step."""

    second: int
    pending: float
    dispatched: float
    running: float


class Reading(NamedTuple):
    """Of no job."""

    kind: str
    source: str
    second: int
    values: Values


class ArrayReading(NamedTuple):
    """Imported for a job."""

    source: str
    second: int
    values: Values


class ProgressReading(NamedTuple):
    """Of a job's progress."""

    second: int
    values: Values


class WorkerReading(NamedTuple):
    """Of one worker."""

    source: str
    values: Values


class Window(NamedTuple):
    """First claim to the end, or to now."""

    start: float | None
    finish: float


class _Timeline(Protocol):
    def timeline_job(self, conn: Connection, *, job: uuid.UUID) -> JobClock: ...
    def timeline_phases(self, conn: Connection, *, job: uuid.UUID) -> list[PhaseClock]: ...
    def timeline_pauses(self, conn: Connection, *, job: uuid.UUID) -> list[Pause]: ...
    def timeline_calls(self, conn: Connection, *, job: uuid.UUID, step: int, low: int) -> list[StepPercentiles]: ...
    def timeline_call_histograms(
        self, conn: Connection, *, job: uuid.UUID, step: int, low: int
    ) -> list[StepHistogram]: ...
    def timeline_call_totals(self, conn: Connection, *, job: uuid.UUID, step: int) -> list[OpTotal]: ...
    def timeline_queue(self, conn: Connection, *, job: uuid.UUID, step: int, low: int) -> list[Tasks]: ...
    def timeline_progress(self, conn: Connection, *, job: uuid.UUID, step: int, low: int) -> list[ProgressReading]: ...
    def timeline_readings(
        self, conn: Connection, *, kinds: Sequence[str], step: int, low: int, high: int, first: int, last: int
    ) -> list[Reading]: ...
    def timeline_first_workers(self, conn: Connection, *, low: int, high: int) -> list[WorkerReading]: ...
    def timeline_last_workers(self, conn: Connection, *, low: int, high: int) -> list[WorkerReading]: ...
    def job_time(self, conn: Connection, *, job: uuid.UUID) -> Window: ...
    def array_readings(self, conn: Connection, *, job: uuid.UUID, low: int, high: int) -> list[ArrayReading]: ...
    def drop_array(self, conn: Connection, *, job: uuid.UUID, name: str, separator: str) -> int: ...
    def put_array(
        self, conn: Connection, *, job: uuid.UUID, second: Sequence[int], source: Sequence[str], values: Sequence[str]
    ) -> None: ...


TIMELINE: _Timeline = face(_Timeline)
