"""Bulk transfer of rows by COPY: from one server's connection to another's, and as arrays of fixed width."""

from __future__ import annotations

import struct
import tempfile
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sql.connection import Connection

_IN_MEMORY = 64_000_000  # bytes that wait in memory; more go to a temporary file
_HEADER = struct.Struct(">11sii")  # signature, flags, length of the extension (PostgreSQL, COPY, "Binary Format")
_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_END = b"\xff\xff"

Bytes = npt.NDArray[np.uint8]


def carry(source: Connection, table: str, target: Connection, places: Sequence[int] | None = None) -> None:
    """Add the rows of a table to the table of the same name and columns on another server; `places` selects rows."""
    rows = table if places is None else f"(SELECT * FROM {table} WHERE place IN ({', '.join(map(str, places))}))"
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        source.raw.cursor().copy_expert(f"COPY {rows} TO STDOUT (FORMAT binary)", spool)
        spool.seek(0)
        target.raw.cursor().copy_expert(f"COPY {table} FROM STDIN (FORMAT binary)", spool)


def fixed_rows(conn: Connection, query: str, widths: Sequence[int]) -> list[Bytes]:
    """Return the result of a query, each column as an array of rows × bytes. Every value must have its column's width,
    and none may be null: ids have 16 bytes, a SHA-256 32. Raises ValueError if one has another width."""
    with tempfile.SpooledTemporaryFile(max_size=4 * _IN_MEMORY) as spool:
        conn.raw.cursor().copy_expert(f"COPY ({query}) TO STDOUT (FORMAT binary)", spool)
        spool.seek(0)
        data = spool.read()
    kind = np.dtype(_layout(widths))
    body = len(data) - _HEADER.size - len(_END)
    rows = np.frombuffer(data, kind, count=max(0, body) // kind.itemsize, offset=_HEADER.size)
    sized = all(bool((rows[f"size{n}"] == width).all()) for n, width in enumerate(widths))
    if body % kind.itemsize or not sized or not bool((rows["fields"] == len(widths)).all()):
        raise ValueError(f"rows that are not {widths} bytes wide")
    return [rows[f"value{n}"] for n in range(len(widths))]


def put_flags(conn: Connection, job: uuid.UUID, items: Bytes, lists: npt.NDArray[np.int16]) -> None:
    """Insert rows into `system_file` for items (rows × 16 bytes), each with its list's number."""
    rows = np.empty(len(items), _layout((16, 16, 2)))
    rows["fields"] = 3
    for number, (width, values) in enumerate(
        ((16, np.frombuffer(job.bytes, np.uint8)), (16, items), (2, lists.astype(">i2").view(np.uint8).reshape(-1, 2)))
    ):
        rows[f"size{number}"] = width
        rows[f"value{number}"] = values
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        spool.write(_HEADER.pack(_SIGNATURE, 0, 0))
        spool.write(rows.tobytes())
        spool.write(_END)
        spool.seek(0)
        conn.raw.cursor().copy_expert("COPY system_file (job, item, list) FROM STDIN (FORMAT binary)", spool)


def _layout(widths: Sequence[int]) -> list[Any]:
    """Return the binary layout of a row: the number of fields, then each field's length and bytes."""
    out: list[Any] = [("fields", ">i2")]
    for number, width in enumerate(widths):
        out += [(f"size{number}", ">i4"), (f"value{number}", np.uint8, (width,))]
    return out
