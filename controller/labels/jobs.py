"""Labels of a job or of a group's jobs, from what its databases hold, while it runs and afterwards."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence

from controller.databases import JobHandle
from controller.labels.rules import Effort, FilerCache, is_cached, job_labels, short_of_processors, unique_bytes
from controller.timeline.job_status import JobStatus, read_status
from controller.timeline.readings import JobAt
from controller.timeline.thresholds import EVIDENCE_SECONDS
from core.job_types import JobType
from core.records import GroupKind
from monitoring.machine import capacities
from sql import groups, replay
from sql import jobs as ledger_jobs
from sql.faces.timeline import TIMELINE, Values
from sql.jobs import JobProgress

BEGIN_SECONDS = 4  # after the first claim: a worker that has reported nothing by then came later, its counters with it
_LATEST_SECONDS = 60  # before the end or now: workers that were gone by then are not counted
_AFTER_SECONDS = 3  # after the end of a job: its last state is observed within that


def read_labels(handles: Sequence[JobHandle], cache: FilerCache) -> list[str]:
    """Those of a job, or of all jobs of a group, now. Raises DatabaseFault, UsageError when a job is gone."""
    with contextlib.ExitStack() as stack:
        jobs = [(stack.enter_context(handle.database.transaction()), handle.id) for handle in handles]
        statuses = [read_status(conn, job) for conn, job in jobs]
        done = [ledger_jobs.progress(conn, job) for conn, job in jobs]
        return labels_of_jobs(jobs, statuses, done, cache)


def labels_of_jobs(
    jobs: Sequence[JobAt], statuses: Sequence[JobStatus], done: Sequence[JobProgress], cache: FilerCache
) -> list[str]:
    """The same of jobs that were looked at already."""
    started = min((s.started for s in statuses if s.started is not None), default=None)
    if started is None:
        return labels_of(statuses, done, {}, {}, None, cache)
    ends = [math.inf if s.finished is None else s.finished for s in statuses]
    witness = max(range(len(jobs)), key=lambda n: ends[n])
    conn, low = jobs[witness][0], math.floor(started) - 1
    end = math.ceil(min(ends[witness], max(s.now for s in statuses)))
    first = dict(TIMELINE.timeline_first_workers(conn, low=low, high=low + BEGIN_SECONDS))
    last = dict(TIMELINE.timeline_last_workers(conn, low=max(low, end - _LATEST_SECONDS), high=end + _AFTER_SECONDS))
    return labels_of(statuses, done, last, first, _unique(jobs, statuses, done), cache)


def labels_of(
    statuses: Sequence[JobStatus],
    done: Sequence[JobProgress],
    last: Mapping[str, Values],
    first: Mapping[str, Values],
    unique: float | None,
    cache: FilerCache,
) -> list[str]:
    """`last`: the latest readings of workers, `first`: those of workers that were there when the jobs began; `unique`:
    different bytes that the jobs touch, None while that is not known."""
    memory, processors = (
        sum(capacities(last.values(), what, "host").values()) for what in ("memory_bytes", "processors")
    )
    elapsed = max(p.elapsed_s for p in done)
    limited = False
    if elapsed >= EVIDENCE_SECONDS and processors:
        call_s = sum(ns for s in statuses for _, ns in s.calls.values()) / 1e9
        exact = any("slot_over_s" in values for values in last.values())  # controller.observe.call_time
        waited_s = _grown("slot_over_s" if exact else "slot_wait_s", last, first)
        busy_s = _grown("busy_s", last, first)
        effort = Effort(
            cpu=_grown("cpu_s", last, first) / (elapsed * processors),
            waits=_grown("run_queue_s", last, first) / call_s if call_s else None,
            in_calls=max(0.0, call_s - waited_s) / busy_s if busy_s else None,
        )
        limited = bool(short_of_processors(effort))
    return job_labels(
        emulated=[s.job.options.filer.label for s in statuses],
        cached=bool(memory) and unique is not None and is_cached(unique, memory + cache.bytes),
        undeclared=cache.undeclared,
        limited=limited,
    )


def _unique(jobs: Sequence[JobAt], statuses: Sequence[JobStatus], done: Sequence[JobProgress]) -> float | None:
    if any(s.job.options.type is JobType.REPLAY for s in statuses):
        return _replayed(jobs)
    if not all(p.total_known for p in done):
        return None
    discovered = sum(p.raw_bytes + p.extracted_bytes for p in done)
    if len(jobs) == 1:
        return discovered
    conn, job = jobs[0]  # the first database has the groups' rows
    identity = ledger_jobs.summary(conn, job).group_id
    group = None if identity is None else next(iter(groups.find_groups(conn, identity.hex)), None)
    if group is None:  # a deletion that was cut short: the least that they may have read
        return unique_bytes(discovered, kind=GroupKind.SIMULTANEOUS.value, jobs=len(jobs), source_copies=1)
    return unique_bytes(discovered, kind=group.kind.value, jobs=len(jobs), source_copies=group.source_copies)


def _replayed(jobs: Sequence[JobAt]) -> float | None:
    """Bytes of the files that clients prepared; None until all have reported."""
    results = [client.result for conn, job in jobs for client in replay.clients(conn, job)]
    return None if None in results or not results else sum(int(result["bytes"]) for result in results if result)


def _grown(key: str, last: Mapping[str, Values], first: Mapping[str, Values]) -> float:
    return sum(max(0.0, _value(values, key) - _value(first.get(name, {}), key)) for name, values in last.items())


def _value(values: Values, key: str) -> float:
    """A number, or one of each slot."""
    value = values.get(key, 0.0)
    return sum(value) if isinstance(value, list) else float(value)
