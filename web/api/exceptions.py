"""Exceptions: counts, and all of them as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from controller.browse.failures import EXCEPTION_FIELDS, exceptions_by, stream_exceptions
from core.csv_cells import defused
from readers.errors import ExceptionCode
from web.api.csv_answer import CSV, csv_answer
from web.api.models.common import Filter, responses
from web.api.models.items import ExceptionCounts
from web.api.needs import Found

router = APIRouter(tags=["exceptions"])


class By(StrEnum):
    """Groups in which exceptions are counted."""

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
    responses=responses(404, 422) | CSV,
)
def as_csv(
    jobs: Found, code: ExceptionCode | None = None, type: Filter = None, custodian: Filter = None, raw: bool = False
) -> StreamingResponse:
    """Every exception that passes the filters, as CSV with a header; the order is that of recording. A cell that a
    spreadsheet would run as a formula has an apostrophe in front; with `raw` it stays as it is."""
    wanted = {"code": code.value if code else None, "type": type, "custodian": custodian}
    rows = stream_exceptions(jobs.each, wanted)
    return csv_answer(f"exceptions-{jobs.id}", EXCEPTION_FIELDS, (_cells(row, raw) for row in rows))


def _cells(row: Mapping[str, Any], raw: bool) -> list[str]:
    values = {**row, "container_path": " / ".join(row["container_path"] or ())}
    cells = ["" if values[key] is None else str(values[key]) for key in EXCEPTION_FIELDS]
    return cells if raw else list(map(defused, cells))
