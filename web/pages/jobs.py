"""The list of jobs with the form that creates one, and the run page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from controller.databases import Jobs
from controller.jobs.figures import ProductionFigures, production_lines, production_warnings
from controller.jobs.results import BOUND_COLUMNS, bound_rows
from core.job_types import types_of
from core.records import JobState
from web.api import jobs as api
from web.api import measure, system
from web.api.models.jobs import NewJob
from web.api.needs import Context, Found, Rows
from web.pages.form import JOB, inputs
from web.pages.render import page

PAGE_ROWS = 50

router = APIRouter()


@router.get("/")
def jobs(
    request: Request,
    context: Context,
    rows: Rows,
    state: JobState | Literal[""] = "",
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """All jobs, newest first; redirects to the page of a command that runs no job."""
    if context.shown is not None:
        return RedirectResponse(context.shown.path)
    listed = api.list_jobs(context, rows, state=state or None, limit=PAGE_ROWS, offset=offset)
    choices = system.choices(context)
    return page(
        request,
        "jobs.html",
        jobs=listed.jobs,
        total=listed.total,
        state=str(state),
        states=[state.value for state in JobState],
        creating=choices.creating,
        form=inputs(NewJob, choices, common=JOB),
        corpora=system.corpora(context),
        sample=not measure.why_not(context),
        newer=_turned(state, offset - PAGE_ROWS) if offset else None,
        older=_turned(state, offset + PAGE_ROWS) if offset + PAGE_ROWS < listed.total else None,
    )


def _turned(state: str, offset: int) -> str:
    return f"/?{urlencode({'state': state, 'offset': max(0, offset)})}"


@router.get("/jobs/{job}")
def run(request: Request, context: Context, rows: Rows, jobs: Found) -> Response:
    """One job or group, while it runs and after."""
    made = _production(jobs)
    return page(
        request,
        "run.html",
        job=api.one_job(context, rows, jobs),
        production=production_lines(made) if made else [],
        warned=bool(made and production_warnings(made)),
        bounds=bound_rows(jobs, context.settings),
        bound_columns=BOUND_COLUMNS,
    )


def _production(jobs: Jobs) -> ProductionFigures | None:
    if not jobs.each:
        return None
    own: Mapping[str, Any] = jobs.each[0].database.ask(types_of(jobs.each[0].job.options.of_type).figures, jobs.each[0])
    return own.get("production")
