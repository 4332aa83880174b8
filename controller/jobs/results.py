"""A job's figures, computed from its database."""

from __future__ import annotations

import contextlib
import platform
import uuid
from collections.abc import Sequence
from typing import Any

from controller.browse.counts import JobCounts, count_job
from controller.databases import JobHandle, Jobs
from controller.jobs.bounds import judged
from controller.jobs.distribution import Distribution
from controller.jobs.figures import (
    ChildTotals,
    FilerFigures,
    GroupFigures,
    JobFigures,
    calls_figures,
    merge,
    rates,
)
from controller.labels.jobs import disturbances, elapsed_note, group_labels, job_labels, surroundings_of_job
from controller.labels.rules import storage_text
from controller.observe.call_time import call_time
from controller.observe.io_kinds import io_of
from controller.observe.wire import wire_shares
from core.bounds import COLUMNS, Outcome
from core.clock import Clock
from core.extensions import installed_version
from core.job_types import types_of
from core.names import display_name
from core.records import FilerChoice
from core.settings import Settings
from monitoring.aggregate import calls_by_op, calls_by_op_of_jobs
from sql.connection import Connection
from sql.figures import FIGURES, Worker
from sql.jobs import phase_elapsed
from sql.workers import LIVE_SECONDS

BOUND_COLUMNS = tuple(name for name in COLUMNS if name != "at")  # a job is one point
FRAMES_SECONDS = 30.0  # frames come once a second, where a CPU is free to send and store them
_POLL_SECONDS = 0.1


def wait_for_frames(handle: JobHandle, clock: Clock, seconds: float = FRAMES_SECONDS) -> bool:
    """Wait until every worker that can still send has its calls stored up to the job's end; return False on a time-out.

    Call it while the workers live: their last second of calls arrives after the job's end. A worker that stops
    reporting meanwhile had some to send."""
    deadline = clock.monotonic_ns() + int(seconds * 1e9)
    awaited: set[uuid.UUID] = set()
    while True:
        workers = handle.database.ask(_workers, handle.id)
        late = {worker.incarnation for worker in workers if not worker.complete and not worker.stopped}
        awaited |= {worker.incarnation for worker in workers if worker.due} & late
        if all(worker.complete for worker in workers if worker.due):
            return not awaited & late
        if clock.monotonic_ns() >= deadline:
            return False
        clock.sleep(_POLL_SECONDS)


def _workers(conn: Connection, job: uuid.UUID) -> Sequence[Worker]:
    return FIGURES.workers_of_job(conn, job=job, seconds=LIVE_SECONDS)


def job_result(
    handle: JobHandle, settings: Settings, *, calls_complete: bool | None = None, copies: int = 1
) -> JobFigures:
    """Return all figures of a job. `calls_complete`: whether `wait_for_frames` was in time, None if the caller did not
    wait; `copies` of the source were made for its group. Raises DatabaseFault, UsageError if the job is gone."""
    counts = count_job(handle)
    options = handle.job.options
    with handle.database.transaction() as conn:
        calls = calls_by_op(conn, handle.id)
        phases = phase_elapsed(conn, handle.id)
        workers = _workers(conn, handle.id)
        server = FIGURES.server_version(conn)
        disturbed = disturbances(conn, handle.id)
        noted = elapsed_note(conn, handle.id)
        around = surroundings_of_job(conn, handle)
        span = FIGURES.job_span(conn, job=handle.id)
        held = FIGURES.job_held(conn, job=handle.id)
        own = types_of(options.of_type).figures(conn, handle)
    lost = sum(worker.frames_lost for worker in workers)
    times = call_time([handle])
    labels = job_labels(handle, calls_complete=calls_complete)
    return JobFigures.from_records(
        counts.summary.job,
        counts,
        counts.progress,
        **_counted(counts),
        type=options.type,
        **{name: value for name, value in own.items() if name in JobFigures.model_fields},
        index_engine=options.index_engine,
        passes=1 if options.single_pass else 2,
        distribution=Distribution.of(options),
        fsync=options.fsync,
        layout=options.layout,
        phases=phases,
        span_s=(span.started, span.finished),
        held_s=None if held.started is None or held.finished is None else (held.started, held.finished),
        disturbances=disturbed,
        calls=calls_figures(calls, times),
        call_time=times,
        io=io_of([handle], calls, raw_bytes=counts.progress.raw_bytes, copies=copies),
        frames_lost=lost,
        calls_complete=calls_complete is not False and not lost and around.observe,
        storage=str(settings.storage),
        elapsed_note=noted,
        storage_is=storage_text(around.to_json()),
        versions=_versions(options.index_engine, server),
        filer=_filer(options.filer),
        passwords=options.passwords,
        ocr=options.ocr if options.ocr.asked else None,
        wire=wire_shares([handle]),
        labels=labels.lines,
    )


def _filer(choice: FilerChoice) -> FilerFigures | None:
    """Return the emulated filer, if there was one."""
    if not choice.digest:
        return None
    return FilerFigures(name=choice.name, scale=choice.scale)


def _counted(counts: JobCounts) -> dict[str, Any]:
    job, progress, children = counts.summary.job, counts.progress, counts.children
    raw, discovered = progress.raw_bytes, progress.discovered_bytes
    items = progress.items if job.options.type.produces else counts.items
    by_code: dict[str, int] = {}
    for row in counts.exceptions:
        by_code[row.code] = by_code.get(row.code, 0) + row.exceptions
    return rates(raw_bytes=raw, discovered_bytes=discovered, items=items, seconds=progress.elapsed_s) | {
        "job_id": job.id,
        "source": display_name(job.source),
        "workers": counts.summary.workers_planned,
        "slots": counts.summary.slots_planned,
        "items": items,
        "exceptions": by_code,
        "children": ChildTotals(expected=children.expected, emitted=children.emitted, failed=children.failed),
        "violations": counts.violation_lines,
    }


def _versions(engine: str, server: str) -> dict[str, str]:
    out = {"edbench": installed_version(), "python": platform.python_version(), "postgresql": server}
    for package in (engine, "celery", "psycopg2-binary"):
        out[package] = installed_version(package)
    return out | {"kernel": platform.release()}


def figures_of(selected: Jobs, settings: Settings, *, calls_complete: bool | None = None) -> JobFigures | GroupFigures:
    """Return all figures of a job or group.

    The `job_id` of a group is the group's id, which every command accepts in place of a job's. Raises DatabaseFault,
    UsageError if a job is gone."""
    found = _figures(selected, settings, calls_complete)
    bounds = _bounds(selected)
    return found.with_observed({"bounds": judged(found, bounds)}) if bounds else found


def outcomes_of(selected: Jobs, settings: Settings) -> list[Outcome]:
    """Return the outcomes of the bounds (--fail-if) of a job or group that has ended; empty before. Raises as
    `figures_of` does."""
    ended = all(handle.job.state.over for handle in selected.each)
    return figures_of(selected, settings).bounds if ended and _bounds(selected) else []


def bound_rows(selected: Jobs, settings: Settings) -> list[tuple[str, ...]]:
    """Return a row of `BOUND_COLUMNS` for each bound of a job or group; before the end no outcome is known."""
    outcomes = outcomes_of(selected, settings)
    if not outcomes:
        return [(text, "when the job ends", "open") for text in _bounds(selected)]
    return [(bound, measured, outcome) for bound, measured, _, outcome in (one.row for one in outcomes)]


def _bounds(selected: Jobs) -> tuple[str, ...]:
    return selected.each[0].job.options.fail_if if selected.each else ()


def _figures(selected: Jobs, settings: Settings, calls_complete: bool | None) -> JobFigures | GroupFigures:
    group = selected.group
    if group is None:
        return job_result(selected.each[0], settings, calls_complete=calls_complete)
    jobs = [
        job_result(handle, settings, calls_complete=calls_complete, copies=group.source_copies).with_observed(
            {"database": handle.database.name}
        )
        for handle in selected.each
    ]
    with contextlib.ExitStack() as stack:
        pairs = [(stack.enter_context(h.database.transaction()), h.id) for h in selected.each]
        calls = calls_by_op_of_jobs(pairs)
    times = call_time(selected.each)
    return merge(
        jobs,
        job_id=group.id,
        group_id=group.id,
        kind=group.kind,
        source_copies=group.source_copies,
        name=group.name,
        source=display_name(group.source),
        calls=calls_figures(calls, times),
        call_time=times,
        io=io_of(selected.each, calls, raw_bytes=sum(job.raw_bytes for job in jobs), copies=group.source_copies),
        wire=wire_shares(selected.each),
        labels=group_labels(selected).lines,
        storage_is=jobs[0].storage_is if jobs else "",
        elapsed_note=max(jobs, key=lambda job: job.elapsed_s).elapsed_note if jobs else "",
    )
