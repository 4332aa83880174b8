"""Routes of reviews: starting one, its findings, their page."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from controller.databases import Jobs
from controller.findings import ReviewKind, below_parents
from controller.jobs.groups import find_discovered
from core.document import Document
from core.errors import UsageError
from core.records import JobState
from review.dedupe import report as dedupe_report
from review.dedupe.run import Duplicates, dedupe
from review.denist import report as denist_report
from review.denist.run import SystemFiles, denist
from review.kinds import LOWEST, USUAL, By, Scope
from review.languages.report import last_languages
from review.languages.run import LanguagesFound
from review.languages.run import languages as detect_languages
from review.looked_at import looked_at
from review.near import report as near_report
from review.near.run import NearDuplicates, near
from review.threads import report as threads_report
from review.threads.run import ThreadsFound, thread
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

Generated = Generator[dict[str, Any], None, None]
ROWS = 200  # of each table; CSV has all

api = APIRouter(tags=["review"])
pages = APIRouter()

Others = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=64)], ...],
    Field(max_length=100, description="Jobs that are reviewed together with this one."),
]


class DedupeOrder(Document):
    """As `edbench review dedupe`."""

    scope: Scope = Field(Scope.JOB, description="The scope in which items are compared.")
    by: By = Field(By.FAMILY, description="Whether items or families are compared.")
    others: Others = ()


class NearOrder(Document):
    """As `edbench review near-dup`."""

    threshold: float = Field(
        USUAL, ge=LOWEST, le=1, description="Shingles that two texts share over those that either has, at least."
    )
    scope: Scope = Field(Scope.JOB, description="The scope in which texts are compared.")
    others: Others = ()


class LanguagesOrder(Document):
    """As `edbench review languages`."""

    others: Others = ()


class DenistOrder(Document):
    """As `edbench review denist`."""

    lists: list[Annotated[str, Field(max_length=4_000)]] = Field(
        min_length=1, max_length=1_000, description="Ids of GET /api/v1/hash-lists."
    )
    others: Others = ()


class ThreadsOrder(Document):
    """As `edbench review threads`."""

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
    return context.start_background(
        jobs.id, ReviewKind.DEDUPE.value, lambda: dedupe(together, order.scope, order.by).to_json()
    )


@api.post("/jobs/{job}/near-duplicates", status_code=202, responses=responses(404, 409, 422))
def start_near(context: Context, jobs: Discovered, order: NearOrder) -> BackgroundTask:
    """Find texts that are nearly equal, and the principal of each group."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id,
        ReviewKind.NEAR.value,
        lambda: near(together, order.scope, order.threshold, context.settings).to_json(),
    )


@api.post("/jobs/{job}/languages", status_code=202, responses=responses(404, 409, 422))
def start_languages(context: Context, jobs: Discovered, order: LanguagesOrder) -> BackgroundTask:
    """Detect the language of each text and store it as `language` in the item's metadata."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id, ReviewKind.LANGUAGES.value, lambda: detect_languages(together, context.settings).to_json()
    )


@api.post("/jobs/{job}/system-files", status_code=202, responses=responses(404, 409, 422))
def start_denist(context: Context, jobs: Discovered, order: DenistOrder) -> BackgroundTask:
    """Flag system files: items whose hash is on a list of known software."""
    together, lists = _together(context, jobs, order.others), chosen_lists(context, order.lists)
    return context.start_background(
        jobs.id, ReviewKind.DENIST.value, lambda: denist(together, lists, context.settings).to_json()
    )


@api.post("/jobs/{job}/threads", status_code=202, responses=responses(404, 409, 422))
def start_threads(context: Context, jobs: Discovered, order: ThreadsOrder) -> BackgroundTask:
    """Group messages into threads."""
    together = _together(context, jobs, order.others)
    return context.start_background(
        jobs.id, ReviewKind.THREADS.value, lambda: thread(together, subjects=order.subjects).to_json()
    )


@api.get("/hash-lists", responses=responses())
def hash_lists(context: Context) -> HashLists:
    """Lists of known software files: files in `hash-lists` of the storage root and in the directories of EDBENCH_HASH_LISTS."""
    return HashLists(
        lists=[HashListChoice(id=one.id, name=one.name, bytes=one.bytes) for one in list_hash_lists(context)],
        places=[str(place) for place in list_places(context)],
    )


def _together(context: WebContext, jobs: Jobs, others: Sequence[str]) -> list[Jobs]:
    """The job and the others to review with it. Raises UsageError, FieldErrors where they cannot be reviewed, and while a
    measurement runs."""
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
    return dedupe_report.last_dedupe(jobs.each, context.databases)


@api.get("/jobs/{job}/duplicates.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def duplicates_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every member of a group of duplicates, the original first. Cells that a spreadsheet would run as a formula get an
    apostrophe, except with `raw`."""
    by = dedupe_report.last_dedupe(jobs.each, context.databases).by
    return csv_answer(
        f"duplicates-{jobs.id}", dedupe_report.stream_duplicates(jobs.each, by), dedupe_report.FIELDS, raw=raw
    )


@api.get("/jobs/{job}/near-duplicates", responses=responses(404, 409, 422))
def near_duplicates(context: Context, jobs: Discovered) -> NearDuplicates:
    """Totals of the latest `edbench review near-dup` of the job."""
    return near_report.last_near(jobs.each, context.databases)


@api.get("/jobs/{job}/near-duplicates.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def near_duplicates_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every member of a group of near-duplicates, the principal first; `raw` as for the duplicates."""
    near_report.last_near(jobs.each, context.databases)
    return csv_answer(f"near-duplicates-{jobs.id}", near_report.stream_near(jobs.each), near_report.FIELDS, raw=raw)


@api.get("/jobs/{job}/languages", responses=responses(404, 409, 422))
def languages(context: Context, jobs: Discovered) -> LanguagesFound:
    """Totals of the latest `edbench review languages` of the job: items by language. The metadata of each item has its `language`."""
    return last_languages(jobs.each, context.databases)


@api.get("/jobs/{job}/system-files", responses=responses(404, 409, 422))
def system_files(context: Context, jobs: Discovered) -> SystemFiles:
    """Totals of the latest `edbench review denist` of the job."""
    return denist_report.last_denist(jobs.each, context.databases)


@api.get("/jobs/{job}/system-files.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def system_files_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every system file in path order; `raw` as for the duplicates."""
    names = [one.name for one in denist_report.last_denist(jobs.each, context.databases).lists]
    rows = denist_report.stream_system_files(jobs.each, names)
    return csv_answer(f"system-files-{jobs.id}", rows, denist_report.FIELDS, raw=raw)


@api.get("/jobs/{job}/threads", responses=responses(404, 409, 422))
def threads(context: Context, jobs: Discovered) -> ThreadsFound:
    """Totals of the latest `edbench review threads` of the job."""
    return threads_report.last_threads(jobs.each, context.databases)


@api.get("/jobs/{job}/threads.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def threads_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every message, by thread; `raw` as for the duplicates."""
    threads_report.last_threads(jobs.each, context.databases)
    return csv_answer(f"threads-{jobs.id}", threads_report.stream_threads(jobs.each), threads_report.FIELDS, raw=raw)


@pages.get("/jobs/{job}/review")
def review(request: Request, context: Context, rows: Rows, jobs: Discovered) -> Response:
    """The latest findings, and a form for each kind of review."""
    # Read first: what ends while the rest is read is then shown as running, and the page looks again.
    background_tasks = looking.background_tasks(context, jobs).background_tasks
    found_threads = _findings(lambda: threads(context, jobs), lambda _: threads_report.stream_threads(jobs.each))
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
        dedupe=_findings(
            lambda: duplicates(context, jobs), lambda found: dedupe_report.stream_duplicates(jobs.each, found.by)
        ),
        near=_findings(lambda: near_duplicates(context, jobs), lambda _: near_report.stream_near(jobs.each)),
        languages=_findings(lambda: languages(context, jobs)),
        denist=_findings(lambda: system_files(context, jobs), lambda found: _system_files(jobs, found)),
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
    return denist_report.stream_system_files(jobs.each, [one.name for one in found.lists])


def _others(context: Context, rows: Rows, jobs: Found) -> list[Any]:
    """Completed discoveries, which can be reviewed together with this one."""
    listed = jobs_api.list_jobs(context, rows, limit=500).jobs
    done = (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS)
    return [row for row in listed if row.id != jobs.id and row.type == "discovery" and row.state in done]
