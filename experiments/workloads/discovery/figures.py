"""What of a job's result follows from the ledger's rows: told anew from them, whatever the result said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controller.jobs.groups.results import group_figures
from controller.jobs.results import call_json, rates_of
from experiments.workloads.discovery.tables import JobTables
from monitoring.aggregate import totals_by_op

_CALLS = "call_seconds"


def told_result(result: dict[str, Any], jobs: Sequence[JobTables]) -> dict[str, Any]:
    """The result of a job, or of a group with its jobs', with times, rates and calls as the rows have them."""
    if "jobs" not in result:
        return _job(result, jobs[0])
    each = [_job(one, job) for one, job in zip(result["jobs"], jobs, strict=True)]
    return result | group_figures(each) | _calls(jobs) | {"jobs": each}


def _job(result: dict[str, Any], job: JobTables) -> dict[str, Any]:
    times, held = job.rows("job_times")[0], job.rows("job_held")[0]
    seconds = max(0.0, times.finished - times.first_claim - times.stopped)
    spans = job.rows("phase_spans")
    return (
        result
        | rates_of(result["raw_bytes"], result["discovered_bytes"], result["items"], seconds)
        | {
            "phases": {p.phase: round(max(0.0, p.finished - p.started - p.stopped), 3) for p in spans},
            "span_s": [times.first_claim, times.finished],
            "held_s": None if held.finished is None else [held.started, held.finished],
        }
        | _calls([job])
    )


def _calls(jobs: Sequence[JobTables]) -> dict[str, Any]:
    """Nothing of jobs whose calls were not kept (on null storage)."""
    kept = [job for job in jobs if _CALLS in job.tables]
    if not kept:
        return {}
    totals = totals_by_op(row for job in kept for row in job.rows(_CALLS))
    return {"calls": {op: call_json(one) for op, one in totals.items()}}
