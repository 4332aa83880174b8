"""Tables as CSV, of any length."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any

from fastapi.responses import StreamingResponse

_ROWS_AT_ONCE = 500
_IN_MEMORY, _PIECE = 1 << 20, 1 << 16
CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


def csv_answer(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> StreamingResponse:
    """A download of this name. Written whole to a temporary file before the first byte is sent: a reader who is slow holds a
    file and no connection of the database, of which there are few."""
    with ExitStack() as stack:
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))
        spool.writelines(piece.encode("utf-8", "replace") for piece in _lines(header, rows))
        spool.seek(0)
        stack.pop_all()  # whoever sends it closes it
    return StreamingResponse(
        _pieces(spool),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.csv"'},
    )


def _pieces(spool: IO[bytes]) -> Iterator[bytes]:
    with spool:
        while piece := spool.read(_PIECE):
            yield piece


def _lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """CSV in pieces of some hundred rows."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(header)
    for number, row in enumerate(rows, 1):
        writer.writerow(row)
        if number % _ROWS_AT_ONCE == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()
