"""Storage calls, stored by the collector and added up; a job over time, with observations and imported counters of
arrays.

Times are seconds since the epoch. Columns of several rows are array literals (monitoring.aggregate): frames arrive by
the hundred a second."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from sql.connection import Connection
from sql.interface import implemented


class _Observing(Protocol):
    def add_observations(
        self, conn: Connection, *, slack: int, second: str, kind: str, source: str, values: str, taken: str
    ) -> None: ...
    def jobs_to_observe(self, conn: Connection, *, open: Sequence[uuid.UUID]) -> dict[uuid.UUID, bool]: ...
    def observe_database(self, conn: Connection, *, database: str, size: bool) -> Mapping[str, int]: ...
    def observe_queue(
        self, conn: Connection, *, database: str, jobs: Sequence[uuid.UUID]
    ) -> list[Mapping[str, str | float]]: ...
    def observe_progress(self, conn: Connection, *, database: str, jobs: Sequence[uuid.UUID]) -> list[int]: ...


OBSERVING: _Observing = implemented(_Observing)


class NewSecond(NamedTuple):
    """A second of a job and a worker that was not stored yet."""

    job: str
    incarnation: str
    second: int


@dataclass(frozen=True, slots=True)
class OpCalls:
    """Calls of one op of a worker in a phase and second."""

    op: int
    calls: int
    bytes: int
    errors: int
    total_ns: int
    max_ns: int
    histogram: memoryview


@dataclass(frozen=True, slots=True)
class StepHistogram(OpCalls):
    """Calls of one op of a known job in a step of some seconds, identified by the first one."""

    second: int


@dataclass(frozen=True, slots=True)
class StepCalls(StepHistogram):
    """Calls of one op of any job in a step."""

    job: uuid.UUID
    step: int


class CallsNow(NamedTuple):
    """Number of calls in the latest seconds, and of these seconds."""

    calls: int
    age: int


@dataclass(frozen=True, slots=True)
class AddedCalls:
    """Columns of calls by worker, second, phase and operation."""

    job: str
    incarnation: str
    second: str
    phase: str
    op: str
    calls: str
    bytes: str
    errors: str
    total_ns: str
    max_ns: str
    histogram: str


@dataclass(frozen=True, slots=True)
class StepSums:
    """Columns of the sums of calls in longer steps."""

    job: str
    step: str
    second: str
    op: str
    calls: str
    bytes: str
    errors: str
    total_ns: str
    max_ns: str
    p50_ns: str
    p95_ns: str
    p99_ns: str
    histogram: str


class _Calls(Protocol):
    def lock_collecting(self, conn: Connection, *, key: int) -> None: ...
    def known_jobs(self, conn: Connection, *, jobs: Sequence[uuid.UUID]) -> list[uuid.UUID]: ...
    def add_calls(self, conn: Connection, *, rows: AddedCalls) -> list[NewSecond]: ...
    def call_steps_at(self, conn: Connection, *, job: str, step: str, second: str, op: str) -> list[StepCalls]: ...
    def put_call_steps(self, conn: Connection, *, rows: StepSums) -> None: ...
    def frames_stored(
        self, conn: Connection, *, incarnation: str, sequence: str, second: str, through: str
    ) -> None: ...
    def call_rows(self, conn: Connection, *, job: uuid.UUID) -> Iterator[OpCalls]: ...
    def calls_now(self, conn: Connection, *, job: uuid.UUID, seconds: int) -> CallsNow: ...


CALLS: _Calls = implemented(_Calls)


Values = Mapping[str, Any]  # observed values, with keys of their kind (monitoring.observations)


class JobClock(NamedTuple):
    """First claim, end, start of a stop that still lasts, and now."""

    started: float | None
    finished: float | None
    stopped: float | None
    now: float


class PhaseClock(NamedTuple):
    """Begin and end of a phase."""

    phase: str
    started: float
    finished: float | None


class Pause(NamedTuple):
    """A stop of a job with its state and reason."""

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
    """Number of calls of one op so far."""

    op: int
    calls: int
    total_ns: int


class Tasks(NamedTuple):
    """Number of tasks that are not done, as means over a step."""

    second: int
    pending: float
    dispatched: float
    running: float


class Reading(NamedTuple):
    """A reading that belongs to no job."""

    kind: str
    source: str
    second: int
    values: Values


class ArrayReading(NamedTuple):
    """A reading of an array that was imported for a job."""

    source: str
    second: int
    values: Values


class ProgressReading(NamedTuple):
    """A reading of a job's progress."""

    second: int
    values: Values


class Window(NamedTuple):
    """Time from the first claim to the end, or to now."""

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
    def timeline_first_workers(self, conn: Connection, *, low: int, high: int) -> dict[str, Values]: ...
    def timeline_last_workers(self, conn: Connection, *, low: int, high: int) -> dict[str, Values]: ...
    def job_time(self, conn: Connection, *, job: uuid.UUID) -> Window: ...
    def array_readings(self, conn: Connection, *, job: uuid.UUID, low: int, high: int) -> list[ArrayReading]: ...
    def drop_array(self, conn: Connection, *, job: uuid.UUID, name: str, separator: str) -> int: ...
    def put_array(
        self, conn: Connection, *, job: uuid.UUID, second: Sequence[int], source: Sequence[str], values: Sequence[str]
    ) -> None: ...


TIMELINE: _Timeline = implemented(_Timeline)
