"""Jobs: list, details, counts, result."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from controller.browse.counts import count_job, custodians_of_jobs
from controller.databases import Jobs
from controller.jobs.figures import GroupFigures, JobFigures
from controller.jobs.groups import refresh
from controller.jobs.overview import JobRow, allowed
from controller.jobs.results import figures_of
from core.records import JobState
from sql.workers import WORKERS
from web.api.models.common import responses
from web.api.models.jobs import Counts, JobDetails, JobList
from web.api.needs import Context, Found, Rows, counts_of
from web.context import WebContext

router = APIRouter(tags=["jobs"])


@router.get("/jobs", responses=responses(422))
def list_jobs(
    context: Context,
    rows: Rows,
    state: JobState | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> JobList:
    """Jobs and groups of all databases, newest first."""
    listed, total = rows.listed(context.databases, state=state, limit=limit, offset=offset)
    return JobList(jobs=[with_problem(context, row) for row in listed], total=total)


@router.get("/jobs/{job}", responses=responses(404))
def one_job(context: Context, rows: Rows, jobs: Found) -> JobDetails:
    """One job, or a group as one."""
    row = with_problem(context, rows.row_of(jobs))
    options = jobs.each[0].job.options.to_json() if jobs.each else {}
    return JobDetails(**dict(row), options=options, allowed=_allowed(context, jobs, row))


def _allowed(context: WebContext, jobs: Jobs, row: JobRow) -> list[str]:
    """Actions that are possible now. A job whose command was killed still has the state `running`: it can be resumed."""
    out = allowed(row)
    if row.state in (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS):
        out.append("verify")
    if row.state is JobState.RUNNING and not context.runner.tends(jobs.id) and "resume" not in out:
        orphaned = not jobs.each[0].database.ask(WORKERS.live_slots)
        return [*out, "resume"] if orphaned else out
    return out if context.runner.creating else [action for action in out if action not in ("resume", "requeue")]


def with_problem(context: WebContext, row: JobRow) -> JobRow:
    """The row and those of its jobs, with the problem that this server has with it."""
    jobs = None if row.jobs is None else [with_problem(context, each) for each in row.jobs]
    return row.model_copy(update={"problem": context.runner.problem(row.id), "jobs": jobs})


@router.get("/jobs/{job}/counts", responses=responses(404))
def counts(jobs: Found) -> Counts:
    """Counts by phase, kind, media type, text state, exception code and custodian."""
    handles = jobs.each
    return Counts(
        jobs=[counts_of(handle.database.name, count_job(handle)) for handle in handles],
        custodians=custodians_of_jobs(handles),
    )


@router.get("/jobs/{job}/result", responses=responses(404))
def result(context: Context, jobs: Found) -> JobFigures | GroupFigures:
    """The result as `edbench discover -o json` writes it. Sizes are in bytes, times in seconds, 1 GB is 10⁹ bytes."""
    return figures_of(refresh(jobs), context.settings)
