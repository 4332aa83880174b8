"""Exceptions: counts, and all of them as CSV."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from typing import IO, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from controller.browse.counts import EXCEPTION_FIELDS, exceptions_by, stream_exceptions
from core.csv_cells import csv_lines
from readers.errors import ExceptionCode
from web.api.models.common import Filter, responses
from web.api.models.items import ExceptionCounts
from web.api.needs import Found

_IN_MEMORY, _PIECE = 1 << 20, 1 << 16
CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


def csv_answer(
    name: str, rows: Iterable[Mapping[str, Any]], fields: Sequence[str], *, raw: bool = False
) -> StreamingResponse:
    """A download of this name, as `spooled` sends it."""
    return spooled_lines(f"{name}.csv", "text/csv; charset=utf-8", csv_lines(rows, fields, raw=raw, end="\r\n"))


def spooled_lines(name: str, media_type: str, lines: Iterable[str]) -> StreamingResponse:
    """A download of these lines, as `spooled` sends it."""
    return spooled(name, media_type, lambda out: out.writelines(line.encode("utf-8", "replace") for line in lines))


def spooled(name: str, media_type: str, write: Callable[[IO[bytes]], None]) -> StreamingResponse:
    """A download of this name, written to a temporary file before the first byte is sent: so a slow reader holds no
    database connection, and a failure is an error instead of a truncated file."""
    with ExitStack() as stack:
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))
        write(spool)
        spool.seek(0)
        stack.pop_all()  # closed by the answer
    return StreamingResponse(
        _pieces(spool),
        media_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _pieces(spool: IO[bytes]) -> Iterator[bytes]:
    with spool:
        while piece := spool.read(_PIECE):
            yield piece


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
    return csv_answer(f"exceptions-{jobs.id}", stream_exceptions(jobs.each, wanted), EXCEPTION_FIELDS, raw=raw)
