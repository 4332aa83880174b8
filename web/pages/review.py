"""Review of a job: duplicates, system files, threads; the hit report of a list of terms; who did what."""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request, Response

from core.errors import UsageError
from core.records import JobState
from review.dedupe.report import stream_duplicates
from review.denist.report import stream_system_files
from review.kinds import By, ReviewKind, Scope
from review.threads.report import stream_threads
from web.api import jobs as jobs_api
from web.api import looking, named
from web.api import review as api
from web.api.needs import Context, Found, Rows
from web.pages.render import page

ROWS = 200  # of each table; CSV has all

router = APIRouter()


@router.get("/jobs/{job}/review")
def review(request: Request, context: Context, rows: Rows, jobs: Found) -> Response:
    """What was found, and forms that look again."""
    duplicates, why_duplicates = _last(lambda: api.duplicates(context, jobs))
    system, why_system = _last(lambda: api.system_files(context, jobs))
    threads, why_threads = _last(lambda: api.threads(context, jobs))
    names = [one.name for one in system.lists] if system else []
    return page(
        request,
        "review.html",
        job=jobs_api.one_job(context, rows, jobs),
        errands=looking.errands(context, jobs).errands,
        kinds=ReviewKind,
        lists=looking.hash_lists(context),
        others=_others(context, rows, jobs),
        scopes=[scope.value for scope in Scope],
        ways=[by.value for by in By],
        duplicates=duplicates,
        why_duplicates=why_duplicates,
        equal=_first(stream_duplicates(jobs.each, duplicates.by)) if duplicates else [],
        system=system,
        why_system=why_system,
        flagged=_first(stream_system_files(jobs.each, names)) if system else [],
        threads=threads,
        why_threads=why_threads,
        messages=_first(stream_threads(jobs.each)) if threads else [],
        shown=ROWS,
    )


def _last(ask: Callable[[], Any]) -> tuple[Any, str]:
    """What was found last, or why nothing can be told."""
    try:
        return ask(), ""
    except UsageError as error:
        return None, str(error)


def _first(rows: Generator[dict[str, Any], None, None]) -> list[dict[str, Any]]:
    try:
        return list(islice(rows, ROWS))
    finally:
        rows.close()


def _others(context: Context, rows: Rows, jobs: Found) -> list[Any]:
    """Discoveries that have completed, which may be looked through together with this one."""
    listed = jobs_api.list_jobs(context, rows, limit=500).jobs
    done = (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS)
    return [row for row in listed if row.id != jobs.id and row.type == "discovery" and row.state in done]


@router.get("/jobs/{job}/terms")
def terms(request: Request, context: Context, rows: Rows, jobs: Found) -> Response:
    """The form for a list of terms; the report is drawn from the API's answer."""
    return page(request, "terms.html", job=jobs_api.one_job(context, rows, jobs))


@router.get("/jobs/{job}/custody")
def custody(request: Request, context: Context, rows: Rows, jobs: Found) -> Response:
    """Operator actions; all of the chain of custody as JSON lines."""
    job = jobs_api.one_job(context, rows, jobs)
    return page(
        request,
        "custody.html",
        job=job,
        actions=named.actions(jobs).actions,
        verified=looking.errands(context, jobs).errands.get(looking.VERIFY),
    )
