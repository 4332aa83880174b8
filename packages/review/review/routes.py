"""Routes of reviews: starting one, its findings, their web page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from controller.databases import Jobs
from controller.findings import below_parents
from controller.jobs.groups import find_discovered
from core.document import Document
from core.errors import UsageError
from core.names import display_name
from core.records import JobState
from review.dedupe.run import DUPLICATES, Duplicates, dedupe
from review.denist.run import SYSTEM_FILES, SystemFiles, denist
from review.kinds import LOWEST, USUAL, By, Scope
from review.languages.run import LANGUAGES, LanguagesFound
from review.languages.run import languages as detect_languages
from review.looked_at import looked_at
from review.near.run import NEAR_DUPLICATES, NearDuplicates, near
from review.report import Report, Summary
from review.threads.run import THREADS, ThreadsFound, thread
from web.api import jobs as jobs_api
from web.api import looking
from web.api.exceptions import CSV, csv_answer
from web.api.models.common import responses
from web.api.needs import Context, Discovered, Found, Rows
from web.background import BackgroundTask
from web.context import WebContext
from web.errors import FieldErrors
from web.pages.render import page
from web.results import chosen_lists, list_hash_lists, list_places

ROWS = 200  # of each table; CSV has all

api = APIRouter(tags=["review"])
pages = APIRouter()

Others = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=64)], ...],
    Field(max_length=100, description="Jobs that are reviewed together with this one."),
]


class DedupeOrder(Document):
    """Options of `edbench review dedupe`."""

    scope: Scope = Field(Scope.JOB, description="The scope in which items are compared.")
    by: By = Field(By.FAMILY, description="Whether items or families are compared.")
    others: Others = ()


class NearOrder(Document):
    """Options of `edbench review near-dup`."""

    threshold: float = Field(
        USUAL,
        ge=LOWEST,
        le=1,
        description="Least similarity: shingles that two texts share ÷ shingles that either has.",
    )
    scope: Scope = Field(Scope.JOB, description="The scope in which texts are compared.")
    others: Others = ()


class LanguagesOrder(Document):
    """Options of `edbench review languages`."""

    others: Others = ()


class DenistOrder(Document):
    """Options of `edbench review denist`."""

    lists: list[Annotated[str, Field(max_length=4_000)]] = Field(
        min_length=1, max_length=1_000, description="Ids of GET /api/v1/hash-lists."
    )
    others: Others = ()


class ThreadsOrder(Document):
    """Options of `edbench review threads`."""

    subjects: bool = Field(
        False, description="Use the subject to place replies that have no reference to another message."
    )
    others: Others = ()


class HashListChoice(Document):
    """A list of known software files."""

    id: str
    name: str
    bytes: int


class HashLists(Document):
    """The available lists, and the directories that are searched for them."""

    lists: list[HashListChoice]
    places: list[str]


@api.post("/jobs/{job}/duplicates", status_code=202, responses=responses(404, 409, 422))
def start_dedupe(context: Context, jobs: Discovered, order: DedupeOrder) -> BackgroundTask:
    """Find duplicates and their originals. GET …/background-tasks shows when it is done, GET …/duplicates the findings."""
    together = _together(context, jobs, order.others)
    return _start(context, jobs, DUPLICATES, lambda: dedupe(together, order.scope, order.by))


@api.post("/jobs/{job}/near-duplicates", status_code=202, responses=responses(404, 409, 422))
def start_near(context: Context, jobs: Discovered, order: NearOrder) -> BackgroundTask:
    """Find texts that are nearly equal, and the principal of each group."""
    together = _together(context, jobs, order.others)
    return _start(
        context, jobs, NEAR_DUPLICATES, lambda: near(together, order.scope, order.threshold, context.settings)
    )


@api.post("/jobs/{job}/languages", status_code=202, responses=responses(404, 409, 422))
def start_languages(context: Context, jobs: Discovered, order: LanguagesOrder) -> BackgroundTask:
    """Detect the language of each text and store it as `language` in the item's metadata."""
    together = _together(context, jobs, order.others)
    return _start(context, jobs, LANGUAGES, lambda: detect_languages(together, context.settings))


@api.post("/jobs/{job}/system-files", status_code=202, responses=responses(404, 409, 422))
def start_denist(context: Context, jobs: Discovered, order: DenistOrder) -> BackgroundTask:
    """Flag system files: items whose hash is on a list of known software."""
    together, lists = _together(context, jobs, order.others), chosen_lists(context, order.lists)
    return _start(context, jobs, SYSTEM_FILES, lambda: denist(together, lists))


@api.post("/jobs/{job}/threads", status_code=202, responses=responses(404, 409, 422))
def start_threads(context: Context, jobs: Discovered, order: ThreadsOrder) -> BackgroundTask:
    """Group messages into threads."""
    together = _together(context, jobs, order.others)
    return _start(context, jobs, THREADS, lambda: thread(together, subjects=order.subjects))


def _start(context: WebContext, jobs: Jobs, report: Report[Summary], review: Callable[[], Summary]) -> BackgroundTask:
    return context.start_background(jobs.id, report.kind.value, lambda: review().to_json())


@api.get("/hash-lists", responses=responses())
def hash_lists(context: Context) -> HashLists:
    """Lists of known software files: files in `hash-lists` of the storage root and in the directories of EDBENCH_HASH_LISTS."""
    return HashLists(
        lists=[
            HashListChoice(id=of, name=display_name(os.fsencode(path.name)), bytes=size)
            for of, (path, size) in list_hash_lists(context).items()
        ],
        places=[str(place) for place in list_places(context)],
    )


def _together(context: WebContext, jobs: Jobs, others: Sequence[str]) -> list[Jobs]:
    """Return the job and the others to review with it. Raises UsageError, FieldErrors if they cannot be reviewed, or
    while a measurement runs."""
    context.refuse_measuring()
    try:
        found = [jobs, *(find_discovered(context.databases, one) for one in others)]
    except UsageError as error:
        raise FieldErrors({"others": str(error)}) from error
    looked_at(found)
    return found


@api.get("/jobs/{job}/duplicates", responses=responses(404, 409, 422))
def duplicates(context: Context, jobs: Discovered) -> Duplicates:
    """Totals of the latest `edbench review dedupe` of the job."""
    return DUPLICATES.last(jobs.each, context.databases)


@api.get("/jobs/{job}/duplicates.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def duplicates_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every member of a group of duplicates, the original first. Cells that a spreadsheet would run as a formula get an
    apostrophe, except with `raw`."""
    return _csv(context, jobs, DUPLICATES, "duplicates", raw)


@api.get("/jobs/{job}/near-duplicates", responses=responses(404, 409, 422))
def near_duplicates(context: Context, jobs: Discovered) -> NearDuplicates:
    """Totals of the latest `edbench review near-dup` of the job."""
    return NEAR_DUPLICATES.last(jobs.each, context.databases)


@api.get("/jobs/{job}/near-duplicates.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def near_duplicates_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every member of a group of near-duplicates, the principal first; `raw` as for the duplicates."""
    return _csv(context, jobs, NEAR_DUPLICATES, "near-duplicates", raw)


@api.get("/jobs/{job}/languages", responses=responses(404, 409, 422))
def languages(context: Context, jobs: Discovered) -> LanguagesFound:
    """Totals of the latest `edbench review languages` of the job: items by language. The metadata of each item has its `language`."""
    return LANGUAGES.last(jobs.each, context.databases)


@api.get("/jobs/{job}/system-files", responses=responses(404, 409, 422))
def system_files(context: Context, jobs: Discovered) -> SystemFiles:
    """Totals of the latest `edbench review denist` of the job."""
    return SYSTEM_FILES.last(jobs.each, context.databases)


@api.get("/jobs/{job}/system-files.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def system_files_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every system file in path order; `raw` as for the duplicates."""
    return _csv(context, jobs, SYSTEM_FILES, "system-files", raw)


@api.get("/jobs/{job}/threads", responses=responses(404, 409, 422))
def threads(context: Context, jobs: Discovered) -> ThreadsFound:
    """Totals of the latest `edbench review threads` of the job."""
    return THREADS.last(jobs.each, context.databases)


@api.get("/jobs/{job}/threads.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def threads_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every message, by thread; `raw` as for the duplicates."""
    return _csv(context, jobs, THREADS, "threads", raw)


def _csv(context: WebContext, jobs: Jobs, report: Report[Summary], name: str, raw: bool) -> StreamingResponse:
    found = report.last(jobs.each, context.databases)
    return csv_answer(f"{name}-{jobs.id}", report.stream(jobs.each, found), report.fields, raw=raw)


@pages.get("/jobs/{job}/review")
def review(request: Request, context: Context, rows: Rows, jobs: Discovered) -> Response:
    """Render the latest findings, and a form for each kind of review."""
    # Read first: a task that ends while the rest is read is then shown as running, and the page polls again.
    background_tasks = looking.background_tasks(context, jobs).background_tasks
    found_threads = _findings(context, jobs, THREADS)
    return page(
        request,
        "review.html",
        job=jobs_api.one_job(context, rows, jobs),
        background_tasks=background_tasks,
        lists=hash_lists(context),
        others=_others(context, rows, jobs),
        scopes=[scope.value for scope in Scope],
        ways=[by.value for by in By],
        thresholds=(LOWEST, USUAL),
        dedupe=_findings(context, jobs, DUPLICATES),
        near=_findings(context, jobs, NEAR_DUPLICATES),
        languages=_findings(context, jobs, LANGUAGES),
        denist=_findings(context, jobs, SYSTEM_FILES),
        threads=replace(
            found_threads, rows=below_parents(found_threads.rows, itemgetter("item"), itemgetter("parent"))
        ),
        shown=ROWS,
    )


@dataclass(frozen=True, slots=True)
class Findings:
    """The latest findings with their first rows, or why there are none."""

    found: Any
    rows: list[dict[str, Any]]
    why: str = ""


def _findings(context: WebContext, jobs: Jobs, report: Report[Summary]) -> Findings:
    try:
        found = report.last(jobs.each, context.databases)
    except UsageError as error:
        why = str(error).partition("; run `")[0]  # the form above does what that command does
        return Findings(None, [], re.sub(r"^job \S+", "This job", why))
    with closing(report.stream(jobs.each, found)) as rows:
        return Findings(found, list(islice(rows, ROWS)))


def _others(context: Context, rows: Rows, jobs: Found) -> list[Any]:
    """Return completed discoveries, which can be reviewed together with this one."""
    listed = jobs_api.list_jobs(context, rows, limit=500).jobs
    done = (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS)
    return [row for row in listed if row.id != jobs.id and row.type == "discovery" and row.state in done]
