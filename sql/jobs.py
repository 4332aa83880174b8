"""Creation, search and progress of jobs; `sql.states` changes their states. Every function works in the caller's
transaction."""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.errors import UsageError
from core.records import Custodian, GroupKind, Job, JobOptions, JobState, NewTask, Phase
from sql import bulk
from sql.connection import Connection
from sql.interface import QUERIES, implemented
from sql.workers import WORKERS


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """A job with its creator's description and its times (the database's clock)."""

    job: Job
    type: str
    client: str
    project: str
    group_id: uuid.UUID | None
    workers_planned: int
    slots_planned: int
    created_at: datetime.datetime
    first_claim_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    surroundings: Mapping[str, Any]  # that it was created on (controller.labels.rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgress:
    """Sums over the tasks of one phase."""

    phase: Phase
    open: int  # tasks not done
    done: int
    weight_open: int  # estimated bytes of the open ones
    weight_done: int
    items: int  # expand: rows emitted; index: texts
    raw_bytes: int
    extracted_bytes: int
    index_bytes: int  # written to publish index files
    elapsed_s: float  # 0.0 until its first claim


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """Progress of a job. The total is known once the expand phase is over; until then more items may be found."""

    state: JobState
    phase: Phase
    reason: str | None
    phases: Mapping[Phase, PhaseProgress]  # those with tasks
    items: int  # rows, from finished tasks
    items_indexed: int  # with text taken, from finished index tasks (single-pass: the same as items)
    containers: int
    exceptions: int
    raw_bytes: int
    extracted_bytes: int
    index_bytes: int  # of the index now
    index_written_bytes: int  # by finished tasks to publish it
    elapsed_s: float
    total_known: bool
    waiting: tuple[str, ...] = ()  # long operations of its slots, which are reported

    @property
    def discovered_bytes(self) -> int:
        """Raw and extracted bytes."""
        return self.raw_bytes + self.extracted_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to create, with its first tasks."""

    id: uuid.UUID
    name: str
    client: str
    project: str
    source: bytes
    device: int  # of the source's root, like its inode as returned by stat, unsigned
    inode: int
    options: JobOptions
    custodians: Sequence[Custodian]
    tasks: Sequence[NewTask]
    workers: int  # planned
    slots: int  # of each, likewise
    storage: bytes  # absolute path of the storage root
    surroundings: Mapping[str, Any]  # as in JobSummary
    group_id: uuid.UUID | None = None
    held: bool = False  # paused until `request_resume`; its clocks begin with its first claim all the same


def create_job(conn: Connection, job: NewJob) -> None:
    """Create a running job in its first phase; the queue manager is woken at the commit (make it durable)."""
    QUERIES["insert_job"].run(
        conn,
        job=job.id,
        group=job.group_id,
        type=job.options.type.value,
        name=bulk.storable(job.name),
        client=bulk.storable(job.client),
        project=bulk.storable(job.project),
        state=(JobState.PAUSED if job.held else JobState.RUNNING).value,
        phase=job.options.phases[0].value,
        source=job.source,
        # stat gives unsigned 64-bit numbers; the column is signed.
        device=_signed(job.device),
        inode=_signed(job.inode),
        storage=job.storage,
        options=json.dumps(job.options.to_json()),
        workers=job.workers,
        slots=job.slots,
        surroundings=json.dumps(job.surroundings),
    )
    bulk.insert_custodians(conn, job.id, job.custodians)
    bulk.insert_tasks(conn, job.id, job.tasks)
    QUERIES["notify"].run(conn)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _unsigned(number: int) -> int:
    return number + (1 << 64) if number < 0 else number


def _job(row: Any) -> Job:
    return Job(
        id=row.id,
        name=row.name,
        state=JobState(row.state),
        phase=Phase(row.phase),
        source=bytes(row.source),
        source_device=_unsigned(row.source_device),
        source_inode=_unsigned(row.source_inode),
        storage=bytes(row.storage),
        options=JobOptions.from_json(row.options),
        reason=row.reason,
    )


def _summary(row: Any) -> JobSummary:
    own = {field.name: getattr(row, field.name) for field in dataclasses.fields(JobSummary) if field.name != "job"}
    return JobSummary(job=_job(row), **own)


def get_job(conn: Connection, job: uuid.UUID) -> Job:
    """One job. Raises UsageError if there is none."""
    return summary(conn, job).job


def set_options(conn: Connection, job: uuid.UUID, options: JobOptions) -> None:
    """Replace the options of a job; only for a job that does not run, in the transaction that checked that."""
    QUERIES["set_options"].run(conn, job=job, options=json.dumps(options.to_json()))


def summary(conn: Connection, job: uuid.UUID) -> JobSummary:
    """One job with its description and times. Raises UsageError if there is none."""
    row = QUERIES["get_job"].run(conn, job=job).one_or_none()
    if row is None:
        raise UsageError(f"there is no job {job}; see `edbench job list`")
    return _summary(row)


def jobs_beginning(conn: Connection, digits: str) -> list[Job]:
    """The jobs whose id begins with these digits."""
    return [_job(row) for row in QUERIES["find_jobs"].run(conn, prefix=digits)]


def list_jobs(conn: Connection, limit: int = 1_000) -> list[JobSummary]:
    """Jobs, newest first."""
    return [_summary(row) for row in QUERIES["list_jobs"].run(conn, limit=limit)]


def phase_elapsed(conn: Connection, job: uuid.UUID) -> dict[Phase, float]:
    """Seconds of each phase from its first claim to its barrier, less pauses; phases not begun are absent."""
    return {Phase(row.phase): float(row.seconds) for row in QUERIES["phase_elapsed"].run(conn, job=job)}


def _phases(conn: Connection, job: uuid.UUID) -> dict[Phase, PhaseProgress]:
    """Progress of each phase, in the order of phases."""
    seconds = phase_elapsed(conn, job)
    rows = {Phase(row.phase): row._asdict() for row in QUERIES["phase_progress"].run(conn, job=job)}
    return {
        phase: PhaseProgress(**rows[phase] | {"phase": phase, "elapsed_s": seconds.get(phase, 0.0)})
        for phase in Phase
        if phase in rows
    }


def progress(conn: Connection, job: uuid.UUID) -> JobProgress:
    """The job's progress. Raises UsageError if there is no such job.

    For a job that takes the items of another, the items are known from the start. Bytes that it has written count as
    extracted bytes; it has no loose files."""
    now = get_job(conn, job)
    phases, producing = _phases(conn, job), now.options.type.produces
    first = [] if producing else [p for p in phases.values() if p.phase in (Phase.WALK, Phase.EXPAND)]  # each item once
    reading = phases.get(now.phase if producing else Phase.INDEX)
    items = sum(p.items for p in first)
    if producing and now.options.of_type:
        items = now.options.of_type.items
    counts = QUERIES["job_counts"].run(conn, job=job).one()
    return JobProgress(
        state=now.state,
        phase=now.phase,
        reason=now.reason,
        phases=phases,
        items=items,
        items_indexed=items if now.options.single_pass else reading.items if reading else 0,
        containers=counts.containers,
        exceptions=counts.exceptions,
        raw_bytes=sum(p.raw_bytes for p in first),
        extracted_bytes=sum(p.extracted_bytes for p in (phases.values() if producing else first)),
        index_bytes=counts.index_bytes,
        index_written_bytes=sum(p.index_bytes for p in phases.values()),
        elapsed_s=JOBS.elapsed(conn, job=job),
        total_known=producing or now.phase in (Phase.INDEX, Phase.OCR, Phase.FINALISE) or now.state.over,
        waiting=() if now.state.over else tuple(WORKERS.worker_waits(conn, job=str(job))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One job of a group."""

    database: str
    job: uuid.UUID

    @classmethod
    def from_json(cls, data: Mapping[str, str]) -> GroupMember:
        """The member as stored in the group's row."""
        return cls(database=data["database"], job=uuid.UUID(data["job"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A group as stored in the first database."""

    id: uuid.UUID
    name: str
    kind: GroupKind
    source: bytes  # absolute path of the given source
    source_copies: int
    members: tuple[GroupMember, ...]
    created_at: datetime.datetime


class _Jobs(Protocol):
    def custodians(self, conn: Connection, *, job: uuid.UUID) -> list[Custodian]: ...
    def job_custodians(self, conn: Connection, *, job: uuid.UUID) -> dict[int, str]: ...
    def elapsed(self, conn: Connection, *, job: uuid.UUID) -> float: ...
    def job_state(self, conn: Connection, *, job: uuid.UUID) -> JobState | None: ...
    def find_groups(self, conn: Connection, *, prefix: str) -> list[GroupRow]: ...
    def list_groups(self, conn: Connection, *, limit: int = 1_000) -> list[GroupRow]: ...
    def delete_group(self, conn: Connection, *, group: uuid.UUID) -> None: ...


JOBS: _Jobs = implemented(_Jobs)


def create_group(
    conn: Connection,
    *,
    id: uuid.UUID,
    name: str,
    kind: GroupKind,
    source: bytes,
    source_copies: int,
    members: Sequence[GroupMember],
) -> None:
    """Create the row of a group whose jobs exist. Make the transaction durable."""
    QUERIES["insert_group"].run(
        conn,
        group=id,
        name=bulk.storable(name),
        kind=kind.value,
        source=source,
        source_copies=source_copies,
        members=json.dumps([{"database": member.database, "job": str(member.job)} for member in members]),
    )
