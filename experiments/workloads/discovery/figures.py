"""Recomputes the figures of a job that follow from the ledger's rows, whatever the job reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.jobs.figures import GroupFigures, JobFigures, merge, rates
from controller.jobs.results import calls_figures
from controller.observe.call_time import CallTimeFigures
from experiments.workloads.discovery.tables import JobTables
from monitoring.aggregate import totals_by_op

_CALLS = "call_seconds"
# Of a group: what does not follow from its jobs.
_OWN = ("job_id", "group_id", "kind", "source_copies", "name", "source", "calls", "call_time", "io", "wire", "labels")


def told_result(result: dict[str, Any], jobs: Sequence[JobTables]) -> dict[str, Any]:
    """Of a job, or of a group with its jobs', with times, rates and calls as the rows have them. Raises ValueError for
    figures that are none."""
    if "jobs" not in result:
        return _job(JobFigures.model_validate(result), jobs[0]).to_json()
    group = GroupFigures.model_validate(result)
    each = [_job(one, job) for one, job in zip(group.jobs, jobs, strict=True)]
    own = {name: getattr(group, name) for name in _OWN} | _calls(jobs, group.call_time)
    return merge(each, **own).beside({"filer": group.filer}).to_json()


def _job(figures: JobFigures, job: JobTables) -> JobFigures:
    times, held = job.rows("job_times")[0], job.rows("job_held")[0]
    sizes = {key: getattr(figures, key) for key in ("raw_bytes", "discovered_bytes", "items")}
    return figures.beside(
        rates(**sizes, seconds=max(0.0, times.finished - times.first_claim - times.stopped))
        | {
            "phases": {p.phase: max(0.0, p.finished - p.started - p.stopped) for p in job.rows("phase_spans")},
            "span_s": (times.first_claim, times.finished),
            "held_s": None if held.finished is None else (held.started, held.finished),
        }
        | _calls([job], figures.call_time)
    )


def _calls(jobs: Sequence[JobTables], times: CallTimeFigures | None) -> dict[str, Any]:
    """Nothing of jobs whose calls were not kept (on null storage)."""
    kept = [job for job in jobs if _CALLS in job.tables]
    if not kept:
        return {}
    return {"calls": calls_figures(totals_by_op(row for job in kept for row in job.rows(_CALLS)), times)}
