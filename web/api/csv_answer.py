"""Downloads of any length: tables as CSV, and other lines."""

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
    """A download of this name, as `spooled` sends it."""
    return spooled(f"{name}.csv", "text/csv; charset=utf-8", _lines(header, rows))


def spooled(name: str, media_type: str, pieces: Iterable[str]) -> StreamingResponse:
    """A download of this name, written to a temporary file before the first byte is sent: a slow reader then holds no database
    connection, and a failure is an error instead of a truncated file."""
    with ExitStack() as stack:
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))
        spool.writelines(piece.encode("utf-8", "replace") for piece in pieces)
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
