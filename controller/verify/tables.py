"""The manifest in temporary tables of the verifying transaction (`sql/queries/verify.sql`)."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pyarrow import Table
from sqlalchemy import Connection

from core.ids import item_id
from dataset_gen.truth import manifest as m
from sql.faces.verify import VERIFY

_ROWS_AT_ONCE = 10_000
_TRUTH = [
    "row",
    "id",
    "custodian",
    "container_path",
    "name",
    "ordinal",
    "kind",
    "container",
    "media_type",
    "bytes",
    "sha256",
    "parent",
    "family",
    "depth",
    "pages",
    "duplicate_group",
    "exceptions",
    "announced",
    "failed",
    "states",
]
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_rows(conn: Connection, table: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> int:
    """COPY rows into a temporary table; how many there were. Values as `cell` takes them."""
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    driver: Any = conn.connection.driver_connection
    lines = ("\t".join(map(cell, row)) + "\n" for row in rows)
    count = 0
    with driver.cursor() as cursor:
        while chunk := list(islice(lines, _ROWS_AT_ONCE)):
            cursor.copy_expert(statement, io.StringIO("".join(chunk)))
            count += len(chunk)
    return count


def cell(value: Any) -> str:
    """One value in COPY's text format: None, bool, numbers, text, bytes, uuids and lists of text."""
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return "\\\\x" + value.hex()
    if isinstance(value, list | tuple):
        return _array(value).translate(_ESCAPES)
    return str(value).translate(_ESCAPES)


def _array(texts: Iterable[str]) -> str:
    quoted = ('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts)
    return "{" + ",".join(quoted) + "}"


def load_manifest(conn: Connection, job: uuid.UUID, table: Table) -> list[str]:
    """Fill `truth` and `term`; the planted terms by number."""
    copy_rows(conn, "truth", _TRUTH, _truth_rows(job, table))
    terms: dict[str, int] = {}
    planted: list[tuple[int, int]] = []
    for row, values in enumerate(table[m.TERMS].to_pylist()):
        for term in values or ():
            planted.append((terms.setdefault(term, len(terms)), row))
    copy_rows(conn, "term", ("number", "row"), planted)
    VERIFY.verify_pair_by_id(conn, job=job)
    VERIFY.verify_pair_index(conn)
    VERIFY.verify_pair_by_path(conn, job=job)
    return list(terms)


def _truth_rows(job: uuid.UUID, table: Table) -> Iterator[tuple[Any, ...]]:
    """Manifest rows in the order of _TRUTH. An item's id follows from its parent's, whose row comes before it."""
    ids: list[uuid.UUID] = []
    for number, row in enumerate(m.iterate(table.drop_columns([m.TERMS, m.FAULT, m.CONTENT]))):
        parent = row[m.PARENT]
        ids.append(item_id(job, ids[parent] if parent >= 0 else None, row[m.ORDINAL]))
        yield (
            number,
            ids[number],
            row[m.CUSTODIAN],
            row[m.CONTAINER_PATH],
            row[m.NAME],
            row[m.ORDINAL],
            row[m.KIND],
            row[m.CONTAINER],
            row[m.MEDIA_TYPE],
            row[m.BYTES],
            row[m.SHA256],
            parent if parent >= 0 else None,
            row[m.FAMILY] if row[m.FAMILY] >= 0 else None,
            row[m.DEPTH],
            row[m.PAGES],
            row[m.DUPLICATE_GROUP],
            sorted(set(row[m.EXCEPTIONS] or ())),
            row[m.ANNOUNCED],
            row[m.FAILED],
            row[m.TEXT_STATES],
        )
