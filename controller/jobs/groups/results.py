"""The figures of a job or group: of a group its jobs' figures, and their sums from the start of the first to the end of the last."""

from __future__ import annotations

import contextlib

from controller.databases import Jobs
from controller.jobs.bounds import judged
from controller.jobs.figures import GroupFigures, JobFigures, merge
from controller.jobs.results import calls_figures, job_result
from controller.labels.stored import group_labels
from controller.observe.call_time import call_time
from controller.observe.io_kinds import io_of
from controller.observe.wire import wire_shares
from core.names import display_name
from core.settings import Settings
from monitoring.aggregate import calls_by_op_of_jobs


def figures_of(selected: Jobs, settings: Settings, *, calls_complete: bool | None = None) -> JobFigures | GroupFigures:
    """Everything about a job or group. Of a group `job_id` is the group's id, which every command takes where it takes a job's.

    Raises DatabaseFault, UsageError when a job is gone.
    """
    found = _figures(selected, settings, calls_complete)
    bounds = selected.each[0].job.options.fail_if
    return found.beside({"bounds": judged(found, bounds)}) if bounds else found


def _figures(selected: Jobs, settings: Settings, calls_complete: bool | None) -> JobFigures | GroupFigures:
    group = selected.group
    if group is None:
        return job_result(selected.each[0], settings, calls_complete=calls_complete)
    jobs = [
        job_result(handle, settings, calls_complete=calls_complete, copies=group.source_copies).beside(
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
        call_time=None if times is None else times.figures(),
        io=io_of(selected.each, calls, raw_bytes=sum(job.raw_bytes for job in jobs), copies=group.source_copies),
        wire=wire_shares(selected.each),
        labels=group_labels(selected, settings).lines,
        storage_is=jobs[0].storage_is if jobs else "",
        elapsed_note=max(jobs, key=lambda job: job.elapsed_s).elapsed_note if jobs else "",
    )
