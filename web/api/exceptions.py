"""Exceptions: counts, and all of them as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from controller.browse.failures import EXCEPTION_FIELDS, exceptions_by, stream_exceptions
from core.csv_cells import defused
from core.errors import ExceptionCode
from web.api.models.common import Filter, responses
from web.api.models.items import ExceptionCounts
from web.api.needs import Found

_ROWS_AT_ONCE = 500

router = APIRouter(tags=["exceptions"])


class By(StrEnum):
    """What exceptions may be counted by."""

    CODE = "code"
    TYPE = "type"
    CUSTODIAN = "custodian"


@router.get("/jobs/{job}/exceptions", responses=responses(404, 422))
def counts(jobs: Found, by: By = By.CODE, code: ExceptionCode | None = None) -> ExceptionCounts:
    """Exceptions by code, media type or custodian, most frequent first; of one code if it is given."""
    rows = exceptions_by(jobs.each, by.value, code.value if code else None)
    return ExceptionCounts.model_validate({"by": by.value, "rows": rows})


@router.get(
    "/jobs/{job}/exceptions.csv",
    response_class=StreamingResponse,
    responses=responses(404, 422) | {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def as_csv(
    jobs: Found, code: ExceptionCode | None = None, type: Filter = None, custodian: Filter = None, raw: bool = False
) -> StreamingResponse:
    """Every exception that passes the filters, as CSV with a header; the order is that of recording. A cell that a
    spreadsheet would run as a formula has an apostrophe in front; with `raw` it stays as it is."""
    wanted = {"code": code.value if code else None, "type": type, "custodian": custodian}
    rows = stream_exceptions(jobs.each, wanted)
    name = f"exceptions-{jobs.id}.csv"
    return StreamingResponse(
        _lines(rows, str if raw else defused),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _lines(rows: Iterator[dict[str, Any]], cell: Callable[[str], str]) -> Iterator[str]:
    """CSV in pieces of some hundred rows."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(EXCEPTION_FIELDS)
    for number, row in enumerate(rows, 1):
        row["container_path"] = " / ".join(row["container_path"] or ())
        writer.writerow("" if row[key] is None else cell(str(row[key])) for key in EXCEPTION_FIELDS)
        if number % _ROWS_AT_ONCE == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()
