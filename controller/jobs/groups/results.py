"""The figures of a group: its jobs' figures, and their sums from the start of the first to the end of the last."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from controller.jobs.figures import GroupFigures, JobFigures, merge
from controller.jobs.groups.create import Group
from controller.jobs.results import cache_of, calls_figures, job_result
from controller.labels.jobs import read_labels
from controller.labels.rules import ruled
from controller.observe.wire import wire_shares
from core.names import display_name
from core.records import GroupKind
from core.settings import Settings
from monitoring.aggregate import calls_by_op_of_jobs


def group_result(group: Group, settings: Settings, *, calls_complete: bool = True) -> GroupFigures:
    """Everything about a group. `job_id` is the group's id, which every command takes where it takes a job's.

    Raises DatabaseFault, UsageError when a job is gone.
    """
    jobs = [
        job_result(handle, settings, calls_complete=calls_complete).beside({"database": handle.database.name})
        for handle in group.jobs
    ]
    with contextlib.ExitStack() as stack:
        pairs = [(stack.enter_context(h.database.transaction()), h.id) for h in group.jobs]
        calls = calls_by_op_of_jobs(pairs)
    return merge(
        jobs,
        job_id=group.id,
        group_id=group.id,
        kind=group.row.kind,
        source_copies=group.row.source_copies,
        name=group.row.name,
        source=display_name(group.row.source),
        calls=calls_figures(calls),
        wire=wire_shares(group.jobs),
        labels=_labels(group, jobs, settings),
    )


def _labels(group: Group, jobs: Sequence[JobFigures], settings: Settings) -> list[str]:
    """Labels of all jobs together, those of any job once each, and what the jobs read."""
    whole = read_labels(group.jobs, cache_of(group.jobs[0], settings))
    beside = (label for job in jobs for label in job.labels if not ruled(label))
    return [*whole, *dict.fromkeys(beside), _read(group)]


def _read(group: Group) -> str:
    if group.row.source_copies > 1:
        return f"each job read its own copy of the source, {group.row.source_copies} in all"
    return "all jobs read one source" if group.row.kind is GroupKind.SIMULTANEOUS else "one source, shared out"
