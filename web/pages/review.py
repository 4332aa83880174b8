"""Review pages of a job: (near-)duplicates, languages, system files, threads, hit reports of term lists, custody."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any

from fastapi import APIRouter, Request, Response

from controller.search.unknown import custodians_of
from core.errors import UsageError
from core.records import JobState
from review.dedupe.report import stream_duplicates
from review.denist.report import stream_system_files
from review.denist.run import SystemFiles
from review.kinds import LOWEST, USUAL, By, Scope
from review.near.report import stream_near
from review.threads.report import stream_threads
from review.threads.tree import below_parents
from web.api import jobs as jobs_api
from web.api import looking, named
from web.api import review as api
from web.api.needs import ActedOn, Context, Discovered, Found, Rows
from web.pages.render import page

Generated = Generator[dict[str, Any], None, None]
ROWS = 200  # of each table; CSV has all

router = APIRouter()


@router.get("/jobs/{job}/review")
def review(request: Request, context: Context, rows: Rows, jobs: Discovered) -> Response:
    """The latest findings, and a form for each kind of review."""
    # Read first: what ends while the rest is read is then shown as running, and the page looks again.
    background_tasks = looking.background_tasks(context, jobs).background_tasks
    threads = _findings(lambda: api.threads(context, jobs), lambda _: stream_threads(jobs.each))
    return page(
        request,
        "review.html",
        job=jobs_api.one_job(context, rows, jobs),
        background_tasks=background_tasks,
        lists=looking.hash_lists(context),
        others=_others(context, rows, jobs),
        scopes=[scope.value for scope in Scope],
        ways=[by.value for by in By],
        thresholds=(LOWEST, USUAL),
        dedupe=_findings(lambda: api.duplicates(context, jobs), lambda found: stream_duplicates(jobs.each, found.by)),
        near=_findings(lambda: api.near_duplicates(context, jobs), lambda _: stream_near(jobs.each)),
        languages=_findings(lambda: api.languages(context, jobs)),
        denist=_findings(lambda: api.system_files(context, jobs), lambda found: _system_files(jobs, found)),
        threads=replace(threads, rows=below_parents(threads.rows, itemgetter("item"), itemgetter("parent"))),
        shown=ROWS,
    )


@dataclass(frozen=True, slots=True)
class Findings:
    """The latest findings with their first rows, or why there are none."""

    found: Any
    rows: list[dict[str, Any]]
    why: str = ""


def _findings(ask: Callable[[], Any], rows: Callable[[Any], Generated] | None = None) -> Findings:
    try:
        found = ask()
    except UsageError as error:
        why = str(error).partition("; run `")[0]  # the form above does what that command does
        return Findings(None, [], re.sub(r"^job \S+", "This job", why))
    if rows is None:
        return Findings(found, [])
    with closing(rows(found)) as streamed:
        return Findings(found, list(islice(streamed, ROWS)))


def _system_files(jobs: Found, found: SystemFiles) -> Generated:
    return stream_system_files(jobs.each, [one.name for one in found.lists])


def _others(context: Context, rows: Rows, jobs: Found) -> list[Any]:
    """Completed discoveries, which can be reviewed together with this one."""
    listed = jobs_api.list_jobs(context, rows, limit=500).jobs
    done = (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS)
    return [row for row in listed if row.id != jobs.id and row.type == "discovery" and row.state in done]


@router.get("/jobs/{job}/terms")
def terms(request: Request, context: Context, rows: Rows, jobs: Discovered) -> Response:
    """The form for a list of terms; a script draws the report from the API's answer."""
    job = jobs_api.one_job(context, rows, jobs)
    return page(request, "terms.html", job=job, custodians=custodians_of(jobs.each))


@router.get("/jobs/{job}/custody")
def custody(request: Request, context: Context, rows: Rows, jobs: ActedOn) -> Response:
    """Operator actions, and links to the chain of custody as JSON lines."""
    job = jobs_api.one_job(context, rows, jobs)
    return page(
        request,
        "custody.html",
        job=job,
        actions=named.actions(jobs).actions,
        verified=looking.background_tasks(context, jobs).background_tasks.get(looking.VERIFY),
    )
