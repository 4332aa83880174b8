"""Rows that jobs write which take items of others: their items, and what a task wrote."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from core.job_types import FileKind
from core.options.production import ProducedFile
from core.records import ClaimedTask
from sql.bulk import ROWS_AT_ONCE, write_rows
from sql.findings import OwnFindings

if TYPE_CHECKING:
    from sqlalchemy import Connection


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


class ProducedFindings(OwnFindings, frozen=True, kw_only=True):
    """What a task wrote below the output directory, and how many pages it counted."""

    files: tuple[ProducedFile, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()  # number of an item, and how many pages were made of it

    @property
    def kinds(self) -> Iterable[FileKind]:
        """Of its files."""
        return (file.kind for file in self.files)

    def write(self, conn: Connection, claimed: ClaimedTask) -> None:
        """Insert the files and set the numbers of pages."""
        put_production_files(conn, claimed.job, self.files)
        put_production_pages(conn, claimed.job, self.pages)


def add_production_items(conn: Connection, job: uuid.UUID, items: Iterable[NumberedItem]) -> None:
    """Insert the items of a new job; some are in memory at a time."""
    names = [field.name for field in dataclasses.fields(NumberedItem)]
    rows = ({name: _plain(getattr(item, name)) for name in names} for item in items)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        write_rows(conn, "insert_production_items", some, job=job)


def _plain(value: int | str | uuid.UUID | None) -> int | str | None:
    return value.hex if isinstance(value, uuid.UUID) else value


def put_production_files(conn: Connection, job: uuid.UUID, files: Iterable[ProducedFile]) -> None:
    """Insert files that a task wrote, in the transaction that ends it."""
    rows = [
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
    ]
    write_rows(conn, "put_production_files", rows, job=job)


def put_production_pages(conn: Connection, job: uuid.UUID, pages: Iterable[tuple[int, int]]) -> None:
    """Set the number of pages of items, given as (number, pages), in the transaction that ends the task."""
    write_rows(conn, "put_production_pages", [{"number": number, "pages": many} for number, many in pages], job=job)
