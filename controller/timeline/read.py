"""Composes the timeline of a job, or of a group's jobs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence

from controller.databases import JobHandle
from controller.jobs.figures import Calls, calls_figures
from controller.jobs.groups import combined, group_state
from controller.jobs.progress import Pace, Snapshot
from controller.labels.rules import WINDOW_SECONDS, advice_on
from controller.timeline.job_status import JobStatus, progress_of, read_status, spans_of
from controller.timeline.limits import limit_of, read_recent
from controller.timeline.model import Limit, Panel, PauseSpan, PhaseSpan, Timeline, host_names
from controller.timeline.panels import (
    Work,
    array_panels,
    block_panels,
    call_panels,
    database_panels,
    emulated_panels,
    queue_panel,
    read_bytes,
    read_share_panel,
    space_panels,
    wire_panels,
    work_panels,
    worker_panels,
)
from controller.timeline.readings import Axis, JobAt, TimelineData, axis_of, read_all
from core.records import JobState
from monitoring.aggregate import STEPS, totals_by_op
from monitoring.observations import ARRAY, BLOCK, DATABASE, EMULATED, SPACE, WIRE, WORKER
from sql import jobs as ledger_jobs
from sql.jobs import JobProgress
from sql.timeline import TIMELINE, Pause

_Spans = tuple[Sequence[PhaseSpan], Sequence[PauseSpan]]


def read_timeline(
    handles: Sequence[JobHandle],
    *,
    since: float | None = None,
    points: int = 600,
    labels: Sequence[str] = (),
) -> Timeline:
    """Read the timeline, in at most `points` buckets, or more if the longest step is too short.

    `since`: only buckets that end after that second. They replace earlier ones: the last one may have been incomplete,
    and all are longer once the run has become too long for its step. Series of workers and mounts without values since
    then are omitted. Raises DatabaseFault, UsageError if a job is gone."""
    with contextlib.ExitStack() as stack:
        jobs = [(stack.enter_context(handle.database.transaction()), handle.id) for handle in handles]
        return _read(jobs, since, points, labels)


def _read(jobs: Sequence[JobAt], since: float | None, points: int, labels: Sequence[str]) -> Timeline:
    statuses = [read_status(conn, job) for conn, job in jobs]
    state = group_state([status.job.state for status in statuses]).value
    identity = _identity(jobs)
    started = min((s.started for s in statuses if s.started is not None), default=None)
    if started is None:
        return Timeline(job=identity, state=state, now_s=0.0, step_s=1.0)
    finished = [s.finished for s in statuses]
    end = None if None in finished else max(s.finished or 0.0 for s in statuses)
    now = end if end is not None else max(s.now for s in statuses)
    axis = axis_of(started, now, end, points, since)
    witness = max(range(len(jobs)), key=lambda n: finished[n] or math.inf)
    data = read_all(jobs, axis, witness)
    done = [
        progress_of(conn, status, readings[-1][1] if readings else None)
        for (conn, _), status, readings in zip(jobs, statuses, data.progress, strict=True)
    ]
    seen = _seen(statuses, done)
    spans = (spans_of(statuses, started), pauses_of(statuses, started))
    return Timeline(
        job=identity,
        state=state,
        labels=labels,
        advice=advice_on(labels),
        now_s=now - started,
        step_s=float(axis.step),
        phases=spans[0],
        pauses=spans[1],
        t=axis.t,
        panels=list(_panels(data, statuses)),
        exceptions=_added(s.exceptions for s in statuses),
        totals=_totals(statuses, done),
        calls=_calls(jobs),
        progress=None if seen.share is None else round(seen.share, 4),
        eta_s=None if seen.left_s is None or seen.state.over else round(seen.left_s, 1),
        limit=_limit(jobs, statuses, witness, axis, spans),
    )


def _identity(jobs: Sequence[JobAt]) -> str:
    """Return the job's id; for several jobs the id of their group."""
    conn, job = jobs[0]
    return str(job if len(jobs) == 1 else ledger_jobs.summary(conn, job).group_id)


def _seen(statuses: Sequence[JobStatus], done: Sequence[JobProgress]) -> Snapshot:
    return combined(
        [
            Pace(status.job.options).snapshot(progress, 0.0, status.now)
            for status, progress in zip(statuses, done, strict=True)
        ]
    )


def _panels(timeline_data: TimelineData, statuses: Sequence[JobStatus]) -> Iterator[Panel]:
    axis = timeline_data.axis
    ops = sorted({op for status in statuses for op in status.calls})
    jobs = [
        Work(axis, readings, status.started, over=status.job.state.over)
        for readings, status in zip(timeline_data.progress, statuses, strict=True)
    ]
    produced = all(status.job.options.type.produces for status in statuses)
    volumes, items, exceptions = work_panels(axis, jobs, produced=produced)
    yield volumes
    yield from call_panels(axis, timeline_data.calls, ops)
    yield items
    yield from database_panels(axis, timeline_data.of(DATABASE))
    yield queue_panel(axis, timeline_data.queue, [status.stops for status in statuses])
    workers = timeline_data.of(WORKER)
    hosts = host_names(workers)
    yield from worker_panels(axis, workers)
    yield from wire_panels(axis, timeline_data.of(WIRE), hosts)
    yield from block_panels(axis, timeline_data.of(BLOCK), hosts)
    yield from space_panels(axis, timeline_data.of(SPACE), hosts)
    yield from array_panels(axis, timeline_data.of(ARRAY))
    yield from emulated_panels(axis, timeline_data.of(EMULATED))
    share = read_share_panel(axis, timeline_data.of(WIRE), read_bytes(axis, timeline_data.calls))
    if share is not None:
        yield share
    yield exceptions


def _totals(statuses: Sequence[JobStatus], done: Sequence[JobProgress]) -> dict[str, int | float]:
    return {
        **{name: sum(getattr(p, name) for p in done) for name in ("items", "raw_bytes", "discovered_bytes")},
        "exceptions": sum(sum(s.exceptions.values()) for s in statuses),
        "calls": sum(calls for s in statuses for calls, _ in s.calls.values()),
    }


def _calls(jobs: Sequence[JobAt]) -> dict[str, Calls]:
    """Return the calls by operation, from the longest steps: a run of hours has a few dozen rows of them."""
    rows = (
        row for conn, job in jobs for row in TIMELINE.timeline_call_histograms(conn, job=job, step=STEPS[-1], low=0)
    )
    return calls_figures(totals_by_op(rows))


def _added(counts: Iterator[Mapping[str, int]]) -> dict[str, int]:
    out: dict[str, int] = {}
    for one in counts:
        for key, number in one.items():
            out[key] = out.get(key, 0) + number
    return dict(sorted(out.items(), key=lambda pair: (-pair[1], pair[0])))


def _limit(jobs: Sequence[JobAt], statuses: Sequence[JobStatus], witness: int, axis: Axis, known: _Spans) -> Limit:
    """Return the bottleneck of the last seconds; for a run that is over, of its longest uninterrupted phase."""
    running = [s for s in statuses if s.running]
    if running:
        began = [(row.started, row.phase) for s in running for row in s.phases if row.phase == s.job.phase.value]
        youngest = max(began, default=(None, running[0].job.phase.value))
        age = None if youngest[0] is None else max(s.now for s in running) - youngest[0]
        recent = read_recent(jobs, axis.end - int(WINDOW_SECONDS), axis.end, witness)
        return limit_of(recent, phase=youngest[1], phase_s=age)
    pieces = list(_pieces(known)) if all(s.job.state.over for s in statuses) else []
    if not pieces:
        return Limit()
    phase, begin, end = max(pieces, key=lambda piece: piece[2] - piece[1])
    low, high = math.floor(axis.start + begin), math.ceil(axis.start + end)
    share = (end - begin) / sum(stop - start for _, start, stop in pieces)
    return limit_of(read_recent(jobs, low, high, witness, axis.step), phase=phase, phase_s=end - begin, of_run=share)


def _pieces(known: _Spans) -> Iterator[tuple[str, float, float]]:
    """Yield the phases without the pauses in them: name, start and end in seconds since the first claim."""
    phases, pauses = known
    for phase in phases:
        begin, last = phase.start_s, phase.end_s
        if last is None:
            continue
        for pause in pauses:
            if begin < pause.start_s < last:
                yield phase.phase, begin, pause.start_s
            if phase.start_s < (pause.end_s or last) and pause.start_s < last:
                begin = max(begin, pause.end_s or last)
        if begin < last:
            yield phase.phase, begin, last


_Still = tuple[
    float, float, Pause | None
]  # from, to, and the row with the reason; none before the first claim and at the end


def pauses_of(statuses: Sequence[JobStatus], start: float) -> list[PauseSpan]:
    """Return pauses in seconds since `start`: for several jobs the times in which none of them ran, though not all were
    over."""
    spans: list[_Still] = [(-math.inf, math.inf, None)]
    for status in statuses:
        spans = list(_both(spans, list(_still(status))))
    return [
        PauseSpan(
            row.state,
            row.reason,
            round(max(0.0, begin - start), 3),
            None if end == math.inf else round(end - start, 3),
        )
        for begin, end, row in spans
        if row is not None
    ]


def _still(status: JobStatus) -> Iterator[_Still]:
    if status.started is None:
        yield -math.inf, math.inf, None
        return
    yield -math.inf, status.started, None
    for row in status.pauses:
        yield row.started, math.inf if row.finished is None else row.finished, row
    if status.finished is not None:
        yield status.finished, math.inf, None


def _both(some: Sequence[_Still], others: Sequence[_Still]) -> Iterator[_Still]:
    """Yield the intersection of the two, in order of time."""
    for begin, end, row in some:
        for start, stop, other in others:
            if max(begin, start) < min(end, stop):
                yield max(begin, start), min(end, stop), _graver(row, other)


def _graver(row: Pause | None, other: Pause | None) -> Pause | None:
    """Return the reason to report of two simultaneous stops: a suspension, else the one that exists."""
    known = [each for each in (row, other) if each is not None]
    return next((each for each in known if each.state == JobState.SUSPENDED.value), known[0] if known else None)
