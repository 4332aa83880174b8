"""Results of experiments: list, details, files, archive, comparison."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import Field

from controller.labels.rules import advice_on
from core.document import TEXT, Document
from core.errors import UsageError
from experiments.package.check import unsealed
from experiments.report import FILE as REPORT
from experiments.result.compare import compare as side_by_side
from experiments.result.documents import Comparison, Estimate, FigureName, comparison_document, figure_names
from experiments.result.schema import Point, Result
from experiments.workloads import about
from web.api.exceptions import spooled
from web.api.models.common import responses
from web.api.needs import Context
from web.auth import REPORT_POLICY
from web.results import file_in, files_in, result_in, run_directory, runs, zip_run


class ResultRow(Document):
    """One result in the list."""

    run: str
    workload: str = Field(description="The workload: discovery, replay and others.")
    kind: str = Field(description="The kind of experiment: scale-up, scale-out, knee, sweep, load.")
    created: float = Field(description="Wall clock, seconds since the epoch.")
    verdict: str
    labels: list[str]
    advice: list[str] = Field([], description="What to do about each label.")
    points: int
    report: bool = Field(description="Whether report.html exists.")


class ResultList(Document):
    """Results, newest first; `unreadable` names directories whose result.json cannot be read, and why."""

    results: list[ResultRow]
    unreadable: dict[str, str]


class PointRow(Document):
    """One point of an experiment."""

    at: dict[str, int | str] = Field(description="Its values of the varied parameters.")
    repeats: int
    figures: dict[str, Estimate]
    limited: bool = Field(description="GENERATOR-LIMITED: no verdict on the storage.")
    marks: list[str] = Field([], description="Labels of this point.")
    limits: list[str]


class FileRow(Document):
    """One file of a result."""

    name: str
    bytes: int
    media_type: str


class ResultDetails(ResultRow):
    """One result without its series; those are in its files."""

    axis: str = Field(description="The field of `at` that was varied.")
    warnings: list[str]
    conditions: dict[str, Any]
    figures: list[FigureName] = Field(description="In the order in which they are shown.")
    points_measured: list[PointRow]
    files: list[FileRow]


Run = Annotated[str, Path(max_length=255, pattern=TEXT, description="Name of a result.")]
_BINARY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
MOST_COMPARED = 8

router = APIRouter(tags=["results"])


@router.get("/results", responses=responses())
def list_results(context: Context) -> ResultList:
    """Results of experiments in the storage root, newest first."""
    rows: list[ResultRow] = []
    unreadable: dict[str, str] = {}
    for name, directory in runs(context.results_root).items():
        try:
            result = result_in(directory)
            rows.append(ResultRow.from_records(result, **_row(name, result, (directory / REPORT).is_file())))
        except UsageError as error:
            unreadable[name] = str(error)
    rows.sort(key=lambda row: row.created, reverse=True)
    return ResultList(results=rows, unreadable=unreadable)


@router.get("/results/{run}.zip", response_class=StreamingResponse, responses=_BINARY | responses(404, 422))
def archive(context: Context, run: Run) -> StreamingResponse:
    """All files of a result as a ZIP archive."""
    directory = run_directory(context.results_root, run)
    return spooled(f"{re.sub('[^A-Za-z0-9._-]', '_', run)}.zip", "application/zip", partial(zip_run, directory))


@router.get("/results/{run}", responses=responses(404, 409, 422))
def one_result(context: Context, run: Run) -> ResultDetails:
    """One result without its series, which are in `files`."""
    directory = run_directory(context.results_root, run)
    result = result_in(directory)
    files = files_in(directory)
    return ResultDetails.from_records(
        result,
        **_row(run, result, REPORT in files),
        figures=figure_names(about(result.workload)),
        points_measured=[_point(point) for point in result.points],
        files=list(files.values()),
    )


@router.get("/results/{run}/files/{name:path}", response_class=FileResponse, responses=_BINARY | responses(404, 422))
def one_file(context: Context, run: Run, name: Annotated[str, Path(max_length=1_000, pattern=TEXT)]) -> FileResponse:
    """One file of a result: report.html, a figure, a series. HTML pages cannot run scripts."""
    file = file_in(run_directory(context.results_root, run), name)
    return FileResponse(file.path, media_type=file.media_type, headers={"Content-Security-Policy": REPORT_POLICY})


@router.get("/compare", responses=responses(404, 409, 422))
def compare(
    context: Context,
    run: Annotated[list[str], Query(min_length=2, max_length=MOST_COMPARED, description="At least two names.")],
    force: Annotated[bool, Query(description="Compare results that are not comparable, and list why.")] = False,
) -> Comparison:
    """Compare results; 409 lists why they are not comparable."""
    directories = [run_directory(context.results_root, name) for name in run]
    results = [result_in(one) for one in directories]
    return comparison_document(side_by_side(results, [unsealed(one) for one in directories], force=force))


def _row(run: str, result: Result, report: bool) -> dict[str, Any]:
    return {"run": run, "advice": advice_on(result.labels), "points": len(result.points), "report": report}


def _point(point: Point) -> PointRow:
    return PointRow.from_records(point, at=point.at.values(), repeats=len(point.repeats))
