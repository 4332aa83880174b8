"""Jobs and groups as rows of a list: state, progress and rates at one moment, cheap enough to be asked for often."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from typing import Any

from controller.databases import JobHandle, newest_jobs
from controller.jobs.groups.create import Group
from controller.jobs.groups.progress import group_state
from controller.jobs.progress import Pace
from controller.jobs.rates import gb_per_hour
from controller.labels.advice import advice_on
from controller.labels.jobs import read_labels
from controller.labels.rules import FilerCache
from core.names import display_name
from core.records import JobState
from sql import jobs as ledger_jobs
from sql.jobs import JobSummary
from sql.session import Database

_MOST_JOBS = 10_000
_SUMMED = ("items", "exceptions", "raw_bytes", "discovered_bytes", "gb_per_hour_raw", "gb_per_hour_discovered")
_ACTIONS = {
    "pause": (JobState.RUNNING,),
    "resume": (JobState.PAUSED, JobState.HELD, JobState.SUSPENDED, JobState.PAUSING),
    "cancel": tuple(state for state in JobState if not state.over),
    "delete": tuple(state for state in JobState if state.over or state in (JobState.PAUSED, JobState.SUSPENDED)),
}


class Overview:
    """Makes rows; of jobs that are over it remembers them, for they change no more."""

    def __init__(self, cache: FilerCache = FilerCache()) -> None:  # noqa: B008 (it is frozen)
        """`cache`: of the filer that the jobs' files lie on."""
        self._cache = cache
        self._lock = threading.Lock()
        self._over: dict[uuid.UUID, dict[str, Any]] = {}

    def rows(
        self, databases: Sequence[Database], *, state: JobState | None, limit: int, offset: int
    ) -> tuple[list[dict[str, Any]], int]:
        """Jobs, newest first, that are in `state` if one is given, and how many there are. Raises DatabaseFault."""
        found = [
            (database, summary)
            for database, summary in newest_jobs(databases, _MOST_JOBS)
            if state in (None, summary.job.state)
        ]
        return [self.row(*pair) for pair in found[offset : offset + limit]], len(found)

    def row(self, database: Database, summary: JobSummary) -> dict[str, Any]:
        """One job."""
        job = summary.job
        known = self._over.get(job.id)
        if known is not None and (known["state"], known["finished"]) == (job.state.value, summary.finished_at):
            return dict(known)
        row = _row(database, summary) | _labels([JobHandle(database, job)], self._cache)
        if JobState(row["state"]).over:
            with self._lock:
                self._over[job.id] = row
        return dict(row)

    def found(self, found: JobHandle | Group) -> dict[str, Any]:
        """A job, or a group as one with its jobs in `jobs`. Raises UsageError when it is gone."""
        if not isinstance(found, Group):
            return self._of(found)
        row = _group_row(found, [self._of(handle) for handle in found.jobs])
        return row | _labels(found.jobs, self._cache) if found.jobs else row

    def _of(self, handle: JobHandle) -> dict[str, Any]:
        with handle.database.transaction() as conn:
            summary = ledger_jobs.summary(conn, handle.id)
        return self.row(handle.database, summary)


def allowed(state: JobState) -> list[str]:
    """What may be done with a job in this state."""
    out = [action for action, states in _ACTIONS.items() if state in states]
    return [*out, "requeue"] if state is JobState.COMPLETED_WITH_EXCEPTIONS else out


def waiting_text(waiting: Sequence[str]) -> str | None:
    """What a job waits for, as one line; None when it does not."""
    return "waiting: " + "; ".join(waiting) if waiting else None


def _labels(handles: Sequence[JobHandle], cache: FilerCache) -> dict[str, list[str]]:
    labels = read_labels(handles, cache)
    return {"labels": labels, "advice": advice_on(labels)}


def _row(database: Database, summary: JobSummary) -> dict[str, Any]:
    job = summary.job
    with database.transaction() as conn:
        look = ledger_jobs.progress(conn, job.id)
    discovered = look.raw_bytes + look.extracted_bytes
    return {
        "id": job.id,
        "name": job.name,
        "database": database.name,
        "group": summary.group_id,
        "client": summary.client,
        "project": summary.project,
        "state": look.state.value,
        "phase": look.phase.value,
        "reason": look.reason or waiting_text(look.waiting),
        "source": display_name(job.source),
        "created": summary.created_at,
        "finished": summary.finished_at,
        "elapsed_s": round(look.elapsed_s, 3),
        "items": look.items,
        "exceptions": look.exceptions,
        "raw_bytes": look.raw_bytes,
        "discovered_bytes": discovered,
        "progress": Pace(job.options).snapshot(look, 0.0, 0.0).share,
        "gb_per_hour_raw": round(gb_per_hour(look.raw_bytes, look.elapsed_s), 3),
        "gb_per_hour_discovered": round(gb_per_hour(discovered, look.elapsed_s), 3),
        "workers": summary.workers_planned,
        "slots": summary.slots_planned,
    }


def _group_row(group: Group, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums over the jobs; rates over the longest job's elapsed time, progress of the one furthest behind."""
    row: dict[str, Any] = {
        "id": group.id,
        "name": group.row.name,
        "group": None,
        "source": display_name(group.row.source),
        "created": group.row.created_at,
        "jobs": rows,
    }
    if not rows:  # a deletion that was cut short
        return row | _NOTHING
    elapsed = max(each["elapsed_s"] for each in rows)
    shares = [each["progress"] for each in rows]
    sums = {key: sum(each[key] for each in rows) for key in _SUMMED}
    ends = [each["finished"] for each in rows]
    furthest_behind = min(rows, key=lambda each: each["progress"] or 0.0)
    return (
        {key: furthest_behind[key] for key in ("client", "project", "phase", "workers", "slots")}
        | row
        | sums
        | {
            "database": ", ".join(each["database"] for each in rows),
            "state": group_state([JobState(each["state"]) for each in rows]).value,
            "reason": next((each["reason"] for each in rows if each["reason"]), None),
            "finished": None if None in ends else max(ends),
            "elapsed_s": elapsed,
            "progress": None if None in shares else min(shares),
            "gb_per_hour_raw": round(gb_per_hour(sums["raw_bytes"], elapsed), 3),
            "gb_per_hour_discovered": round(gb_per_hour(sums["discovered_bytes"], elapsed), 3),
        }
    )


_NOTHING: dict[str, Any] = dict.fromkeys(_SUMMED, 0) | {
    "client": "",
    "project": "",
    "database": "",
    "state": JobState.CANCELLED.value,
    "phase": "walk",
    "reason": "none of its jobs is there any more",
    "finished": None,
    "elapsed_s": 0.0,
    "progress": None,
    "workers": 0,
    "slots": 0,
    "labels": [],
    "advice": [],
}
