"""The status of each job: its state, clocks, phases and progress, for the timeline of all of them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.timeline.model import PhaseSpan
from core.records import Job, JobState, Phase
from monitoring.aggregate import STEPS
from sql import jobs as ledger_jobs
from sql.connection import Connection
from sql.figures import FIGURES
from sql.jobs import JobProgress, PhaseProgress
from sql.timeline import TIMELINE, Pause, PhaseClock, Values

RUNNING = frozenset((JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """One job now; times are seconds since the epoch on its database's clock."""

    job: Job
    started: float | None
    finished: float | None
    now: float
    phases: Sequence[PhaseClock]
    exceptions: Mapping[str, int]  # by code
    calls: Mapping[int, tuple[int, int]]  # op → calls, nanoseconds in them
    pauses: Sequence[Pause] = ()

    @property
    def stops(self) -> list[tuple[float, float]]:
        """Times in which the job was stopped, from and to."""
        return [(row.started, self.now if row.finished is None else row.finished) for row in self.pauses]

    @property
    def running(self) -> bool:
        """Whether the job is not at rest."""
        return self.job.state in RUNNING


def read_status(conn: Connection, identity: uuid.UUID) -> JobStatus:
    """Read the present status. Raises UsageError if the job is gone."""
    job = ledger_jobs.get_job(conn, identity)
    times = TIMELINE.timeline_job(conn, job=identity)
    codes: dict[str, int] = {}
    for row in FIGURES.count_exceptions(conn, job=identity):
        codes[row.code] = codes.get(row.code, 0) + row.exceptions
    totals = TIMELINE.timeline_call_totals(conn, job=identity, step=STEPS[-1])
    return JobStatus(
        job=job,
        started=times.started,
        finished=times.finished,
        now=times.stopped or times.now,
        phases=TIMELINE.timeline_phases(conn, job=identity),
        exceptions=codes,
        calls={row.op: (row.calls, row.total_ns) for row in totals},
        pauses=TIMELINE.timeline_pauses(conn, job=identity),
    )


def _since(moment: float, start: float) -> float:
    """Return the seconds since `start`, at least 0: a phase without tasks ends before the first claim."""
    return round(max(0.0, moment - start), 3)


def spans_of(statuses: Sequence[JobStatus], start: float) -> list[PhaseSpan]:
    """Return the phases in seconds since `start`: from the first job that entered one to the last that left it."""
    begins: dict[str, float] = {}
    ends: dict[str, float | None] = {}
    for status in statuses:
        for row in status.phases:
            end = row.finished or status.finished
            begins[row.phase] = min(begins.get(row.phase, row.started), row.started)
            before = ends.get(row.phase, 0.0)
            ends[row.phase] = None if end is None or before is None else max(end, before)
    out = []
    for phase in sorted(begins, key=lambda p: begins[p]):
        end = ends[phase]
        out.append(PhaseSpan(phase, _since(begins[phase], start), None if end is None else _since(end, start)))
    return out


def progress_of(conn: Connection, status: JobStatus, latest: Values | None) -> JobProgress:
    """Return the job's progress: while it runs as last observed, which costs no counting, else from the ledger."""
    job = status.job
    if latest is None or not status.running:
        return ledger_jobs.progress(conn, job.id)
    phase = Phase(latest["phase"])
    choice = job.options.of_type
    items = choice.items if choice else int(latest["items"])
    part = PhaseProgress(
        phase=phase,
        open=latest["open"],
        done=latest["done"],
        weight_open=latest["weight_open"],
        weight_done=latest["weight_done"],
        items=items,
        raw_bytes=latest["raw_bytes"],
        extracted_bytes=latest["discovered_bytes"] - latest["raw_bytes"],
        index_bytes=latest["index_written_bytes"],
        elapsed_s=latest["phase_s"],
    )
    return JobProgress(
        state=job.state,
        phase=phase,
        reason=job.reason,
        phases={phase: part},
        items=items,
        items_indexed=items if job.options.single_pass else latest["items_indexed"],
        containers=latest["containers"],
        exceptions=latest["exceptions"],
        raw_bytes=latest["raw_bytes"],
        extracted_bytes=latest["discovered_bytes"] - latest["raw_bytes"],
        index_bytes=latest["index_bytes"],
        index_written_bytes=latest["index_written_bytes"],
        elapsed_s=latest["elapsed_s"],
        total_known=job.options.type.produces or phase in (Phase.INDEX, Phase.OCR, Phase.FINALISE),
    )
