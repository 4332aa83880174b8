"""Jobs and groups as rows of a list: state, progress and rates at one moment, cheap enough to be requested often."""

from __future__ import annotations

import datetime
import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pydantic import Field

from controller.databases import JobHandle, Jobs, alone, newest_jobs
from controller.jobs.groups import group_state, list_groups, load_group
from controller.jobs.progress import Pace, gb_per_hour
from controller.labels.jobs import KeptLabels, elapsed_note
from controller.labels.rules import advice_on, storage_text
from core.document import Document, Milli
from core.job_types import JobType
from core.names import display_name
from core.records import DEFAULT_ZONE, JobState, Phase
from sql import jobs as ledger_jobs
from sql.jobs import GroupRow, JobSummary
from sql.session import Database

_MOST_JOBS = 10_000
_SUMMED = ("items", "exceptions", "raw_bytes", "discovered_bytes")
_ACTIONS = {
    "pause": (JobState.RUNNING,),
    "resume": (JobState.PAUSED, JobState.HELD, JobState.SUSPENDED, JobState.PAUSING),
    "cancel": tuple(state for state in JobState if not state.over),
    "delete": tuple(state for state in JobState if state.over or state in (JobState.PAUSED, JobState.SUSPENDED)),
}


class JobRow(Document):
    """One job, or a group of simultaneous jobs as one. Bytes are whole, times seconds, 1 GB is 10⁹ bytes."""

    id: uuid.UUID
    name: str
    type: JobType = JobType.DISCOVERY
    database: str = Field(description="For a group: all names, separated by commas.")
    group: uuid.UUID | None = Field(description="The group that the job belongs to.")
    sources: tuple[uuid.UUID, ...] = Field(default=(), description="The jobs whose items it produces.")
    client: str
    project: str
    state: JobState
    phase: Phase
    reason: str | None = Field(
        description="Why it is suspended; for a running job, what its slots have been waiting for."
    )
    problem: str | None = Field(default=None, description="Why this server cannot start workers for it, if so.")
    source: str
    time_zone: str = Field(default=DEFAULT_ZONE, description="Time zone of dates that have none; stored dates are UTC.")
    created: datetime.datetime
    finished: datetime.datetime | None
    storage: str = Field(
        default="",
        description="Type, server and path of the storage under test when it was created; also those of the source, if it is on another storage.",
    )
    elapsed_s: Milli = Field(description="First claim to the commit of finalise or now, less pauses.")
    elapsed_note: str = Field(default="", description="Pauses taken off elapsed, and suspensions in it; empty: none.")
    items: int
    exceptions: int
    raw_bytes: int
    discovered_bytes: int = Field(description="For a job that produces items of other jobs: the bytes that it wrote.")
    progress: float | None = Field(description="0 to 1, of the known work of the phase; null while that is unknown.")
    gb_per_hour_raw: Milli
    gb_per_hour_discovered: Milli
    workers: int = Field(description="As planned.")
    slots: int = Field(description="Slots of each worker, as planned.")
    labels: list[str] = Field(description="Conditions that limit what the figures mean, such as EMULATED FILER.")
    advice: list[str] = Field(default=[], description="What to do about each label, a line each.")
    jobs: list[JobRow] | None = Field(default=None, description="For a group: its jobs.")


class Overview:
    """Maker of rows. It keeps the rows of ended jobs, which no longer change, and for a while the labels of other
    jobs."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Create an overview; `monotonic` returns seconds."""
        self._labels = KeptLabels(monotonic)
        self._lock = threading.Lock()
        self._over: dict[uuid.UUID, JobRow] = {}

    def rows(
        self,
        databases: Sequence[Database],
        *,
        state: JobState | None,
        limit: int,
        offset: int = 0,
        of: Collection[uuid.UUID] | None = None,
    ) -> tuple[list[JobRow], int]:
        """Return single jobs, newest first, and their number. `state` selects those in that state, `of` those that take
        items of one of these jobs. Raises DatabaseFault."""
        pairs = [
            (database, summary)
            for database, summary in newest_jobs(databases, _MOST_JOBS)
            if state in (None, summary.job.state) and (of is None or any(source in of for source in _sources(summary)))
        ]
        return [self.row(*pair) for pair in pairs[offset : offset + limit]], len(pairs)

    def listed(
        self, databases: Sequence[Database], *, state: JobState | None, limit: int, offset: int = 0
    ) -> tuple[list[JobRow], int]:
        """Return jobs and groups, newest first, and their number. A group is one row, in the place of its newest job.
        Raises DatabaseFault, UsageError for a group of a database that is not among these."""
        pairs = newest_jobs(databases, _MOST_JOBS)
        groups = {row.id: row for row in list_groups(databases)} if any(s.group_id for _, s in pairs) else {}
        members: dict[uuid.UUID, list[tuple[Database, JobSummary]]] = {}
        for pair in pairs:
            group = pair[1].group_id
            members.setdefault(group if group in groups else pair[1].job.id, []).append(pair)
        chosen = [
            each
            for each in members.items()
            if state in (None, group_state([summary.job.state for _, summary in each[1]]))
        ]
        rows = [
            self.row_of(load_group(databases, groups[identity])) if identity in groups else self.row(*found[0])
            for identity, found in chosen[offset : offset + limit]
        ]
        return rows, len(chosen)

    def row(self, database: Database, summary: JobSummary) -> JobRow:
        """Return the row of one job."""
        job = summary.job
        known = self._over.get(job.id)
        if known is not None and (known.state, known.finished) == (job.state, summary.finished_at):
            return known
        state_and_end = (job.state, summary.finished_at)
        labels = self._labels.of(job.id, alone(JobHandle(database, job)), [state_and_end])
        row = _row(database, summary, labels.lines)
        if row.state.over and labels.final:
            with self._lock:
                self._over[job.id] = row
        return row

    def row_of(self, jobs: Jobs) -> JobRow:
        """Return the row of a job, or of a group with its jobs in `jobs`. Raises UsageError if the job is gone."""
        rows = [self._of(handle) for handle in jobs.each]
        if jobs.group is None:
            return rows[0]
        states = [(row.state, row.finished) for row in rows]
        return _group_row(jobs.group, rows, self._labels.of(jobs.group.id, jobs, states).lines if rows else [])

    def _of(self, handle: JobHandle) -> JobRow:
        summary = handle.database.ask(ledger_jobs.summary, handle.id)
        return self.row(handle.database, summary)


def _sources(summary: JobSummary) -> tuple[uuid.UUID, ...]:
    given = summary.job.options.of_type
    return () if given is None else tuple(map(uuid.UUID, given.sources))


def allowed(row: JobRow) -> list[str]:
    """Return the actions that the job's state permits; only a discovery's exceptions can be processed again."""
    out = [action for action, states in _ACTIONS.items() if row.state in states]
    again = row.type is JobType.DISCOVERY and row.state is JobState.COMPLETED_WITH_EXCEPTIONS
    return [*out, "requeue"] if again else out


def waiting_text(waiting: Sequence[str]) -> str | None:
    """Return what a job waits for, as one line; None if it does not wait."""
    return "waiting: " + "; ".join(waiting) if waiting else None


def _row(database: Database, summary: JobSummary, labels: list[str]) -> JobRow:
    job = summary.job
    with database.transaction() as conn:
        look = ledger_jobs.progress(conn, job.id)
        note = elapsed_note(conn, job.id)
    return JobRow.from_records(
        job,
        look,
        summary,
        type=job.options.type,
        database=database.name,
        group=summary.group_id,
        sources=_sources(summary),
        state=look.state,
        phase=look.phase,
        reason=look.reason or waiting_text(look.waiting),
        source=display_name(job.source),
        time_zone=job.options.time_zone,
        created=summary.created_at,
        finished=summary.finished_at,
        storage=storage_text(summary.surroundings),
        elapsed_note=note,
        progress=Pace(job.options).snapshot(look, 0.0, 0.0).share,
        gb_per_hour_raw=gb_per_hour(look.raw_bytes, look.elapsed_s),
        gb_per_hour_discovered=gb_per_hour(look.discovered_bytes, look.elapsed_s),
        workers=summary.workers_planned,
        slots=summary.slots_planned,
        labels=labels,
        advice=advice_on(labels),
    )


def _group_row(group: GroupRow, rows: list[JobRow], labels: list[str]) -> JobRow:
    """Return the row of a group: sums over the jobs, rates over the longest job's elapsed time, progress of the job
    furthest behind."""
    own: dict[str, Any] = {
        "id": group.id,
        "name": group.name,
        "type": rows[0].type if rows else JobType.DISCOVERY,
        "time_zone": rows[0].time_zone if rows else DEFAULT_ZONE,
        "group": None,
        "source": display_name(group.source),
        "created": group.created_at,
        "jobs": rows,
        "labels": labels,
        "advice": advice_on(labels),
    }
    if not rows:  # a deletion that was cut short
        return JobRow(**own, **_NOTHING)
    longest = max(rows, key=lambda each: each.elapsed_s)
    elapsed = longest.elapsed_s
    shares = [each.progress for each in rows if each.progress is not None]
    sums = {key: sum(getattr(each, key) for each in rows) for key in _SUMMED}
    ends = [each.finished for each in rows if each.finished is not None]
    slowest = min(rows, key=lambda each: each.progress or 0.0)
    return JobRow(
        **own,
        **sums,
        **{key: getattr(slowest, key) for key in ("client", "project", "phase", "workers", "slots")},
        database=", ".join(each.database for each in rows),
        state=group_state([each.state for each in rows]),
        reason=next((each.reason for each in rows if each.reason), None),
        finished=max(ends) if len(ends) == len(rows) else None,
        storage=longest.storage,
        elapsed_s=elapsed,
        elapsed_note=longest.elapsed_note,
        progress=min(shares) if len(shares) == len(rows) else None,
        gb_per_hour_raw=gb_per_hour(sums["raw_bytes"], elapsed),
        gb_per_hour_discovered=gb_per_hour(sums["discovered_bytes"], elapsed),
    )


_NOTHING: dict[str, Any] = dict.fromkeys(_SUMMED, 0) | {
    "client": "",
    "project": "",
    "database": "",
    "state": JobState.CANCELLED,
    "phase": Phase.WALK,
    "reason": "all of its jobs were deleted",
    "finished": None,
    "elapsed_s": 0.0,
    "progress": None,
    "gb_per_hour_raw": 0.0,
    "gb_per_hour_discovered": 0.0,
    "workers": 0,
    "slots": 0,
}
