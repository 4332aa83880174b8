"""What jobs that write files out of other jobs' items add to the ledger. In the caller's transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection

from core.production import ProducedFile
from sql.queries import QUERIES

ROWS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedItem:
    """One row of table `production_item`."""

    number: int
    item: uuid.UUID
    source_job: uuid.UUID
    family_first: int
    family_last: int
    parent: int | None
    volume: int
    folder: int
    suffix: str
    bytes: int
    shard: uuid.UUID | None
    pages: int | None = None
    first_page: int | None = None


def add_items(conn: Connection, job: uuid.UUID, items: Iterable[NumberedItem]) -> None:
    """The items of a new job."""
    _run(conn, "insert_production_items", (asdict(item) for item in items), job)


def put_files(conn: Connection, job: uuid.UUID, files: Iterable[ProducedFile]) -> None:
    """What was written; only behind the fence of its task."""
    rows = (
        {
            "number": f.number,
            "kind": f.kind.value,
            "page": f.page,
            "path": f.path,
            "bytes": f.size,
            "sha256": f.sha256.hex(),
            "md5": f.md5.hex(),
        }
        for f in files
    )
    _run(conn, "put_production_files", rows, job)


def put_pages(conn: Connection, job: uuid.UUID, pages: Sequence[tuple[int, int]]) -> None:
    """(number, pages) of items; only behind the fence of its task."""
    _run(conn, "put_production_pages", ({"number": number, "pages": many} for number, many in pages), job)


def number_pages(conn: Connection, job: uuid.UUID, first: int) -> None:
    """Give every item the number of its first page, from `first` on."""
    QUERIES["number_production_pages"].run(conn, job=job, first=first)


def _run(conn: Connection, query: str, rows: Iterator[dict[str, Any]], job: uuid.UUID) -> None:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        QUERIES[query].run(conn, rows=json.dumps(some, separators=(",", ":"), default=str), job=job)
