"""All labels of a job: computed while it runs, stored when it is over, the same list for the web UI, commands and documents."""

from __future__ import annotations

import datetime
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from controller.databases import JobHandle, Jobs
from controller.jobs.disturbances import disturbances
from controller.labels.jobs import read_labels
from controller.labels.rules import ruled
from controller.labels.surroundings import Surroundings, noted
from controller.timeline.thresholds import CACHED
from core.records import GroupKind, JobState
from core.settings import Settings
from sql.faces.figures import FIGURES
from sql.requeue import requeued_files
from sql.workers import LIVE_SECONDS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sql.groups import GroupRow

SETTLE_SECONDS = 30.0  # after the end: call records that have not come by then are missing


class Labels(NamedTuple):
    """Of a job or a group."""

    lines: list[str]
    final: bool  # they are stored, and change no more


def job_labels(handle: JobHandle, settings: Settings, *, calls_complete: bool | None = None) -> Labels:
    """The labels of one job. `calls_complete`: whether all its call records were stored, where the caller waited for
    them; None: read from the database. Labels are not stored before the records have come or will not come any more.

    Raises DatabaseFault, UsageError when the job is gone.
    """
    with handle.database.transaction() as conn:
        stored = FIGURES.job_labels(conn, job=handle.id, settle=SETTLE_SECONDS)
        if stored is not None and stored.labels is not None:
            return Labels([str(label) for label in stored.labels], final=True)
        settled = None if stored is None else stored.settled  # None: it is not over
        workers = FIGURES.workers_of_job(conn, job=handle.id, seconds=LIVE_SECONDS)
    arrived = all(worker.complete for worker in workers if worker.due)
    complete = calls_complete if calls_complete is not None else arrived or not settled
    labels = _computed(handle, settings, calls_complete=complete)
    final = settled is not None and (calls_complete is not None or arrived or settled)
    if final:
        with handle.database.transaction(durable=True) as conn:
            FIGURES.store_labels(conn, job=handle.id, labels=json.dumps(labels))
    return Labels(labels, final)


def group_labels(selected: Jobs, settings: Settings) -> Labels:
    """Labels of all jobs of a group together, those of any job once each, and what the jobs read; of a job alone its own."""
    jobs = [job_labels(handle, settings) for handle in selected.each]
    group = selected.group
    if group is None or not jobs:
        return jobs[0] if jobs else Labels([], final=False)
    with selected.each[0].database.transaction() as conn:
        cache = surroundings_of_job(conn, selected.each[0], settings).cache
    alongside = (label for labels in jobs for label in labels.lines if not ruled(label))
    lines = [*read_labels(selected.each, cache), *dict.fromkeys(alongside), _read(group)]
    return Labels(lines, all(labels.final for labels in jobs))


def surroundings_of_job(conn: Connection, handle: JobHandle, settings: Settings) -> Surroundings:
    """What the job was created on."""
    stored = FIGURES.job_labels(conn, job=handle.id, settle=SETTLE_SECONDS)
    return noted(None if stored is None else stored.surroundings, settings)


def _computed(handle: JobHandle, settings: Settings, *, calls_complete: bool) -> list[str]:
    with handle.database.transaction() as conn:
        around = surroundings_of_job(conn, handle, settings)
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
        labels.append(f"{again} loose files were processed again for their exceptions: not comparable")
    return labels


def sandbox_labels(lacking: Iterable[str]) -> list[str]:
    """What a job's workers lacked to keep parsers from the rest of the machine (worker.box); nothing where they had
    all of it."""
    return [
        "files were parsed in the slots themselves: EDBENCH_BOX was off"
        if what == "off"
        else f"the parsers' sandbox was incomplete: {what}"
        for what in sorted(set(filter(None, lacking)))
    ]


def _read(group: GroupRow) -> str:
    if group.source_copies > 1:
        return f"each job read its own copy of the source, {group.source_copies} in all"
    return "all jobs read one source" if group.kind is GroupKind.SIMULTANEOUS else "one source, shared out"


KEEP_SECONDS = 5.0  # what labels are computed from grows for minutes

StateAndEnd = tuple[JobState, datetime.datetime | None]  # of a job: when it ended, if it did


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    states: Sequence[StateAndEnd]
    labels: Labels


class KeptLabels:
    """Safe for several threads; two that ask at once may both look."""

    def __init__(self, settings: Settings, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._settings = settings
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[uuid.UUID, _Kept] = {}  # by job or group

    def of(self, identity: uuid.UUID, jobs: Jobs, states: Sequence[StateAndEnd]) -> Labels:
        """Those of a job or a group; `states`: of its jobs, a change of which is seen at once. Raises DatabaseFault, and
        UsageError when a job that has to be looked at is gone."""
        now = self._monotonic()
        with self._lock:
            kept = self._kept.get(identity)
        if kept is not None and kept.states == states and now - kept.at < KEEP_SECONDS:
            return kept.labels
        labels = group_labels(jobs, self._settings)
        with self._lock:
            self._kept = {of: kept for of, kept in self._kept.items() if now - kept.at < KEEP_SECONDS}  # no jobs of old
            self._kept[identity] = _Kept(now, states, labels)
        return labels
