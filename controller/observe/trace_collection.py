"""Gathers the records of a job's workers into one trace, once the job is over (docs/dev/trace-format.md)."""

from __future__ import annotations

import dataclasses
import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from controller.databases import JobHandle
from controller.jobs.figures import TraceFigures
from core.clock import Clock
from core.errors import UsageError
from core.job_types import key_of
from core.places import trace_location
from core.records import Job
from core.settings import Settings
from core.storage.layer import Storage
from monitoring.aggregate import calls_by_op
from sql import jobs
from sql.connection import Connection
from sql.runs import RUNS, recorders
from traces.gather import Gathered, Gathering, gather_trace
from traces.parts import SUFFIX, deliver_left_behind, done_until, parts_directory

WAIT_SECONDS = 120.0  # for live workers to deliver their records
_POLL_SECONDS = 0.2


def collect_trace(
    handle: JobHandle, settings: Settings, clock: Clock, *, labels: list[str], ours: bool, seconds: float = WAIT_SECONDS
) -> Gathered:
    """Write the trace of a job that is over, in one file in the job's folder on the storage root.

    Waits for workers that are still alive; `ours`: they have ended, and used our scratch. `labels` are the result's.
    These reads and writes are not recorded. A repeated call gives the same trace, or a longer one. Raises UsageError if
    it cannot be written, DatabaseFault."""
    if ours:
        deliver_left_behind(settings.scratch, settings.storage)
    _wait_for_parts(handle, settings.storage, clock, seconds)
    with handle.database.transaction() as conn:
        counted = sum(totals.calls for totals in calls_by_op(conn, handle.id).values())
        tasks: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for span in RUNS.task_spans(conn, job=handle.id):
            tasks.setdefault((span.worker, span.slot), []).append((span.claimed, span.finished))
        roots = (os.fsencode(settings.storage), *_roots(conn, handle.job))
    options = handle.job.options
    gathering = Gathering(
        parts=sorted(parts_directory(settings.storage, handle.id).glob(f"*{SUFFIX}")),
        roots=roots,
        phases=tuple(phase.value for phase in options.phases),
        origin=_origin(handle, labels),
        counted=counted,
        tasks=tasks,
    )
    target = settings.storage / os.fsdecode(trace_location(handle.id))
    storage = Storage()
    for root in gathering.roots:
        storage.keep_below(root)
    return gather_trace(gathering, storage, target)


def trace_figures(gathered: Gathered) -> TraceFigures:
    """Return the trace's figures for `discover --json`."""
    return TraceFigures(**asdict(gathered) | {"path": str(gathered.path)})


def _wait_for_parts(handle: JobHandle, storage_root: Path, clock: Clock, seconds: float) -> None:
    """Wait until every live worker that ran tasks of the job has reported that all its parts are written. Workers that
    die meanwhile are not awaited; missing calls are counted in the end."""
    deadline = clock.monotonic_ns() + int(seconds * 1e9)
    while clock.monotonic_ns() < deadline:
        awaited = handle.database.ask(recorders, handle.id)
        if all(done_until(storage_root, handle.id, worker) >= last_done for worker, last_done in awaited.items()):
            break
        clock.sleep(_POLL_SECONDS)


def _roots(conn: Connection, job: Job) -> Iterator[bytes]:
    """Yield the directories outside the storage root that a job read and wrote. A job whose items or pages it took may
    be deleted by now."""
    yield job.source
    if (given := job.options.of_type) is None:
        return
    if given.out:
        yield os.fsencode(given.out)
    for other in given.reads:
        with suppress(UsageError):
            yield from _roots(conn, jobs.get_job(conn, uuid.UUID(other)))


def _origin(handle: JobHandle, labels: list[str]) -> dict[str, Any]:
    """Return the description of the job for a trace, without names: traces are passed on."""
    given = handle.job.options
    options = dataclasses.replace(given, of_type=None).to_json()
    if given.of_type is not None:
        options |= {"type": given.type.value, key_of(given.of_type): given.of_type.anonymous()}
    return {
        "kind": "job",
        "job": str(handle.id),
        "options": {key: value for key, value in options.items() if key != "passwords"},
        "filer": options["filer"],
        "labels": labels,
    }
