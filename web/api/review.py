"""Findings of reviews: duplicates, near-duplicates, system files, languages, threads; totals, and lists as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from review.dedupe import report as dedupe_report
from review.dedupe.run import Duplicates
from review.denist import report as denist_report
from review.denist.run import SystemFiles
from review.languages.report import last_languages
from review.languages.run import LanguagesFound
from review.near import report as near_report
from review.near.run import NearDuplicates
from review.rows import csv_cells
from review.threads import report as threads_report
from review.threads.run import ThreadsFound
from web.api.csv_answer import CSV, csv_answer
from web.api.models.common import responses
from web.api.needs import Context, Discovered

router = APIRouter(tags=["review"])


@router.get("/jobs/{job}/duplicates", responses=responses(404, 409, 422))
def duplicates(context: Context, jobs: Discovered) -> Duplicates:
    """Totals of the latest `edbench review dedupe` of the job."""
    return dedupe_report.last_dedupe(jobs.each, context.databases)


@router.get("/jobs/{job}/duplicates.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def duplicates_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every member of a group of duplicates, the original first. Cells that a spreadsheet would run as a formula get an
    apostrophe, except with `raw`."""
    by = dedupe_report.last_dedupe(jobs.each, context.databases).by
    return _csv(f"duplicates-{jobs.id}", dedupe_report.stream_duplicates(jobs.each, by), dedupe_report.FIELDS, raw)


@router.get("/jobs/{job}/near-duplicates", responses=responses(404, 409, 422))
def near_duplicates(context: Context, jobs: Discovered) -> NearDuplicates:
    """Totals of the latest `edbench review near-dup` of the job."""
    return near_report.last_near(jobs.each, context.databases)


@router.get(
    "/jobs/{job}/near-duplicates.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV
)
def near_duplicates_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every member of a group of near-duplicates, the principal first; `raw` as for the duplicates."""
    near_report.last_near(jobs.each, context.databases)
    return _csv(f"near-duplicates-{jobs.id}", near_report.stream_near(jobs.each), near_report.FIELDS, raw)


@router.get("/jobs/{job}/languages", responses=responses(404, 409, 422))
def languages(context: Context, jobs: Discovered) -> LanguagesFound:
    """Totals of the latest `edbench review languages` of the job: items by language. The metadata of each item has its `language`."""
    return last_languages(jobs.each, context.databases)


@router.get("/jobs/{job}/system-files", responses=responses(404, 409, 422))
def system_files(context: Context, jobs: Discovered) -> SystemFiles:
    """Totals of the latest `edbench review denist` of the job."""
    return denist_report.last_denist(jobs.each, context.databases)


@router.get("/jobs/{job}/system-files.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def system_files_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every system file in path order; `raw` as for the duplicates."""
    names = [one.name for one in denist_report.last_denist(jobs.each, context.databases).lists]
    rows = denist_report.stream_system_files(jobs.each, names)
    return _csv(f"system-files-{jobs.id}", rows, denist_report.FIELDS, raw)


@router.get("/jobs/{job}/threads", responses=responses(404, 409, 422))
def threads(context: Context, jobs: Discovered) -> ThreadsFound:
    """Totals of the latest `edbench review threads` of the job."""
    return threads_report.last_threads(jobs.each, context.databases)


@router.get("/jobs/{job}/threads.csv", response_class=StreamingResponse, responses=responses(404, 409, 422) | CSV)
def threads_csv(context: Context, jobs: Discovered, raw: bool = False) -> StreamingResponse:
    """Every message, by thread; `raw` as for the duplicates."""
    threads_report.last_threads(jobs.each, context.databases)
    return _csv(f"threads-{jobs.id}", threads_report.stream_threads(jobs.each), threads_report.FIELDS, raw)


def _csv(name: str, rows: Iterable[dict[str, Any]], fields: Sequence[str], raw: bool) -> StreamingResponse:
    return csv_answer(name, fields, (csv_cells(row, fields, raw=raw) for row in rows))
