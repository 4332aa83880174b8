"""The labels of a job: limits of its result, disturbances while it ran, and the storing of labels."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from controller.databases import JobHandle, Jobs
from controller.jobs.progress import duration
from controller.labels.rules import (
    CACHED,
    EVIDENCE_SECONDS,
    Effort,
    FilerCache,
    Surroundings,
    is_cached,
    rule_labels,
    ruled,
    short_of_processors,
    unique_bytes,
)
from controller.timeline.job_status import JobStatus, read_status
from controller.timeline.readings import JobAt
from core.records import GroupKind, JobState
from core.texts import many
from monitoring.machine import capacities
from sql import jobs as ledger_jobs
from sql.connection import Connection
from sql.figures import FIGURES, Stop
from sql.jobs import JOBS, JobProgress
from sql.requeue import requeued_files
from sql.timeline import TIMELINE, Values
from sql.workers import LIVE_SECONDS

if TYPE_CHECKING:
    from sql.jobs import GroupRow

BEGIN_SECONDS = 4  # after the first claim: a worker that reported nothing by then started later, with new counters
_LATEST_SECONDS = 60  # before the end or now: workers that were gone by then are not counted
_AFTER_SECONDS = 3  # after the end of a job: its last state is observed within that


def read_labels(handles: Sequence[JobHandle], cache: FilerCache) -> list[str]:
    """Return the present labels of a job, or of all jobs of a group. Raises DatabaseFault, UsageError if a job is
    gone."""
    with contextlib.ExitStack() as stack:
        jobs = [(stack.enter_context(handle.database.transaction()), handle.id) for handle in handles]
        statuses = [read_status(conn, job) for conn, job in jobs]
        done = [ledger_jobs.progress(conn, job) for conn, job in jobs]
        return labels_of_jobs(jobs, statuses, done, cache)


def labels_of_jobs(
    jobs: Sequence[JobAt], statuses: Sequence[JobStatus], done: Sequence[JobProgress], cache: FilerCache
) -> list[str]:
    """Return the labels of jobs whose status and progress were read already."""
    started = min((s.started for s in statuses if s.started is not None), default=None)
    if started is None:
        return labels_of(statuses, done, {}, {}, None, cache)
    ends = [math.inf if s.finished is None else s.finished for s in statuses]
    witness = max(range(len(jobs)), key=lambda n: ends[n])
    conn, low = jobs[witness][0], math.floor(started) - 1
    end = math.ceil(min(ends[witness], max(s.now for s in statuses)))
    first = TIMELINE.timeline_first_workers(conn, low=low, high=low + BEGIN_SECONDS)
    last = TIMELINE.timeline_last_workers(conn, low=max(low, end - _LATEST_SECONDS), high=end + _AFTER_SECONDS)
    return labels_of(statuses, done, last, first, _unique(jobs, done), cache)


def labels_of(
    statuses: Sequence[JobStatus],
    done: Sequence[JobProgress],
    last: Mapping[str, Values],
    first: Mapping[str, Values],
    unique: float | None,
    cache: FilerCache,
) -> list[str]:
    """Return the labels. `last`: the latest readings of workers, `first`: those of workers that were there when the
    jobs began; `unique`: distinct bytes that the jobs access, None while unknown."""
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
    return rule_labels(
        emulated=[s.job.options.filer.label for s in statuses],
        cached=bool(memory) and unique is not None and is_cached(unique, memory + cache.bytes),
        undeclared=cache.undeclared,
        limited=limited,
    )


def _unique(jobs: Sequence[JobAt], done: Sequence[JobProgress]) -> float | None:
    if not all(p.total_known for p in done):
        return None
    discovered = sum(p.discovered_bytes for p in done)
    if len(jobs) == 1:
        return discovered
    conn, job = jobs[0]  # the first database has the groups' rows
    identity = ledger_jobs.summary(conn, job).group_id
    group = None if identity is None else next(iter(JOBS.find_groups(conn, prefix=identity.hex)), None)
    if group is None:  # a deletion that was cut short: the least that they may have read
        return unique_bytes(discovered, kind=GroupKind.SIMULTANEOUS.value, jobs=len(jobs), source_copies=1)
    return unique_bytes(discovered, kind=group.kind.value, jobs=len(jobs), source_copies=group.source_copies)


def _grown(key: str, last: Mapping[str, Values], first: Mapping[str, Values]) -> float:
    return sum(max(0.0, _value(values, key) - _value(first.get(name, {}), key)) for name, values in last.items())


def _value(values: Values, key: str) -> float:
    """Return a number, or the sum over the slots."""
    value = values.get(key, 0.0)
    return sum(value) if isinstance(value, list) else float(value)


SETTLE_SECONDS = 30.0  # after the end: call records that have not arrived by then are missing


class Labels(NamedTuple):
    """Labels of a job or a group."""

    lines: list[str]
    final: bool  # they are stored, and change no more


def job_labels(handle: JobHandle, *, calls_complete: bool | None = None) -> Labels:
    """Return the labels of one job.

    `calls_complete`: whether all its call records were stored, if the caller waited for them; None: read from the
    database. Labels are stored only after the records have arrived or can no longer arrive. Raises DatabaseFault,
    UsageError if the job is gone."""
    with handle.database.transaction() as conn:
        stored = FIGURES.job_labels(conn, job=handle.id, settle=SETTLE_SECONDS)
        if stored is not None and stored.labels is not None:
            return Labels([str(label) for label in stored.labels], final=True)
        settled = None if stored is None else stored.settled  # None: it is not over
        workers = FIGURES.workers_of_job(conn, job=handle.id, seconds=LIVE_SECONDS)
    arrived = all(worker.complete for worker in workers if worker.due)
    complete = calls_complete if calls_complete is not None else arrived or not settled
    labels = _computed(handle, calls_complete=complete)
    final = settled is not None and (calls_complete is not None or arrived or settled)
    if final:
        with handle.database.transaction(durable=True) as conn:
            FIGURES.store_labels(conn, job=handle.id, labels=json.dumps(labels))
    return Labels(labels, final)


def group_labels(selected: Jobs) -> Labels:
    """Return the labels of all jobs of a group together, those of single jobs once each, and which source the jobs
    read; for a single job its own."""
    jobs = [job_labels(handle) for handle in selected.each]
    group = selected.group
    if group is None or not jobs:
        return jobs[0] if jobs else Labels([], final=False)
    cache = selected.each[0].database.ask(surroundings_of_job, selected.each[0]).cache
    alongside = (label for labels in jobs for label in labels.lines if not ruled(label))
    lines = [*read_labels(selected.each, cache), *dict.fromkeys(alongside), _read(group)]
    return Labels(lines, all(labels.final for labels in jobs))


def surroundings_of_job(conn: Connection, handle: JobHandle) -> Surroundings:
    """Return the surroundings in which the job was created. Raises UsageError if the job is gone."""
    return msgspec.convert(ledger_jobs.summary(conn, handle.id).surroundings, Surroundings)


def _computed(handle: JobHandle, *, calls_complete: bool) -> list[str]:
    with handle.database.transaction() as conn:
        around = surroundings_of_job(conn, handle)
        disturbed = disturbances(conn, handle.id)
        workers = FIGURES.workers_of_job(conn, job=handle.id, seconds=LIVE_SECONDS)
        again = requeued_files(conn, handle.id)
    by_rule = read_labels([handle], around.cache)
    state = "" if CACHED in by_rule else ", cache state unknown"
    labels = [*disturbed, *around.elsewhere, *by_rule, f"{around.storage.label}{state}", "latencies are closed-loop"]
    if not around.observe:
        labels.append("storage calls were not recorded: EDBENCH_OBSERVE was off")
    elif not calls_complete or any(worker.frames_lost for worker in workers):
        labels.append("some call records are missing: the calls are a lower bound")
    labels += sandbox_labels(worker.box for worker in workers)
    if handle.job.options.ocr.asked:
        labels.append("the time of phase ocr is in elapsed and GB/hour")
    if again:
        labels.append(f"{many(again, 'loose file')} processed again for exceptions: not comparable")
    return labels


def sandbox_labels(lacking: Iterable[str]) -> list[str]:
    """Return a label for each restriction that the sandbox of a job's workers lacked (worker.sandbox); empty if it was
    complete."""
    return [
        "files were parsed in the slots themselves: EDBENCH_BOX was off"
        if what == "off"
        else f"the parsers' sandbox was incomplete: {what}"
        for what in sorted(set(filter(None, lacking)))
    ]


def _read(group: GroupRow) -> str:
    if group.source_copies > 1:
        return f"each job read its own copy of the source, {group.source_copies} in all"
    return "all jobs read one source" if group.kind is GroupKind.SIMULTANEOUS else "one source, divided among the jobs"


KEEP_SECONDS = 5.0  # the data behind labels grow for minutes

StateAndEnd = tuple[JobState, datetime.datetime | None]  # of a job: when it ended, if it did


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    states: Sequence[StateAndEnd]
    labels: Labels


class KeptLabels:
    """Cache of labels. Safe for several threads; two that call at once may both compute them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Create an empty cache; `monotonic` returns seconds."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[uuid.UUID, _Kept] = {}  # by job or group

    def of(self, identity: uuid.UUID, jobs: Jobs, states: Sequence[StateAndEnd]) -> Labels:
        """Return the labels of a job or a group; a change of its jobs' `states` takes effect at once. Raises
        DatabaseFault, and UsageError if a job that must be read is gone."""
        now = self._monotonic()
        with self._lock:
            kept = self._kept.get(identity)
        if kept is not None and kept.states == states and now - kept.at < KEEP_SECONDS:
            return kept.labels
        labels = group_labels(jobs)
        with self._lock:
            self._kept = {of: kept for of, kept in self._kept.items() if now - kept.at < KEEP_SECONDS}  # no jobs of old
            self._kept[identity] = _Kept(now, states, labels)
        return labels


PAUSED, SUSPENDED, WORKERS_CHANGED, DATABASE_AWAY = "PAUSED", "SUSPENDED", "WORKERS CHANGED", "DATABASE AWAY"
_LEAST_AWAY_S = 1.0  # a connection that was lost and restored at once is no outage
_AGAIN = "run it again to measure"


def disturbances(conn: Connection, job: uuid.UUID) -> list[str]:
    """Return a label for each kind of disturbance, with its meaning and what to do; empty if there was none. The time
    between a job's end and its requeue is not a pause."""
    stops = FIGURES.stops_of_job(conn, job=job)
    # Labels are kept for some seconds: they would give another duration than `elapsed_note` while the job is stopped.
    lasting = {stop.state for stop in stops if stop.lasting}
    paused, suspended = _seconds(stops, "paused"), _seconds(stops, "suspended")
    labels = []
    if paused:
        how_long = "" if "paused" in lasting else f" for {duration(paused)}"
        labels.append(f"{PAUSED}{how_long}, subtracted from elapsed; caches had time to change: {_AGAIN}")
    if suspended:
        how_long = "" if "suspended" in lasting else f" for {duration(suspended)}"
        reason = [stop.reason for stop in stops if stop.state == "suspended"][-1]
        labels.append(f"{SUSPENDED}{how_long}, which elapsed includes ({reason}): fix that, {_AGAIN}")
    away = FIGURES.outages_of_job(conn, job=job)
    if away >= _LEAST_AWAY_S:
        labels.append(f"{DATABASE_AWAY} for {duration(away)}, which elapsed includes: {_AGAIN}")
    return [*labels, *_workers_changed(conn, job)]


def elapsed_note(conn: Connection, job: uuid.UUID) -> str:
    """Describe the pauses subtracted from a job's elapsed time and the suspensions included in it; empty if it did not
    stop."""
    stops = FIGURES.stops_of_job(conn, job=job)
    paused, suspended = _seconds(stops, "paused"), _seconds(stops, "suspended")
    off = f"less {duration(paused)} of pauses" if paused else ""
    held = f"with {duration(suspended)} of suspension" if suspended else ""
    return ", ".join(filter(None, (off, held)))


def _seconds(stops: Sequence[Stop], state: str) -> float:
    return sum(stop.seconds for stop in stops if stop.state == state)


def _workers_changed(conn: Connection, job: uuid.UUID) -> Sequence[str]:
    row = FIGURES.workers_changed(conn, job=job, seconds=LIVE_SECONDS)
    if row.planned and row.worked > row.planned:
        return [
            f"{WORKERS_CHANGED}: {many(row.worked, 'worker')} ran its tasks, not the {row.planned} that it started with: {_AGAIN}"
        ]
    if row.lost:
        return [f"{WORKERS_CHANGED}: {row.lost} left before its end: {_AGAIN}"]
    return []
