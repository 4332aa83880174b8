"""The extracted children on the filer, beside the rows that name them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from sqlalchemy import Connection

from core.errors import SourceFileError
from core.names import display_name
from core.places import items_location
from core.storage.layer import EntryKind, Storage
from sql.faces.verify import VERIFY

_ROWS_AT_ONCE = 2_000
_FIRST = uuid.UUID(int=0)


def check_files(conn: Connection, job: uuid.UUID, storage: Storage, root: Path) -> int:
    """Every written child is there with its size, and nothing else is; how many files were looked at.

    Raises StorageFault when the filer fails.
    """
    prefix = os.fsencode(root)
    storage.keep_below(prefix, own=True)
    count, after = 0, _FIRST
    while rows := VERIFY.verify_files(conn, job=job, after=after, limit=_ROWS_AT_ONCE):
        for row in rows:
            actual = _size(storage, os.path.join(prefix, bytes(row.location)))
            if actual != f"{row.bytes} bytes":
                _add(conn, "wrong file on the filer", row.kind, row.container_path, f"{row.bytes} bytes", actual)
        count += len(rows)
        after = rows[-1].id
    _check_extra(conn, job, storage, prefix)
    return count


def _size(storage: Storage, path: bytes) -> str:
    try:
        return f"{storage.stat(path).st_size} bytes"
    except SourceFileError as error:
        return error.detail


def _check_extra(conn: Connection, job: uuid.UUID, storage: Storage, prefix: bytes) -> None:
    batch: list[bytes] = []
    for location in _written(storage, prefix, items_location(job)):
        batch.append(location)
        if len(batch) >= _ROWS_AT_ONCE:
            _check_known(conn, job, batch)
            batch.clear()
    _check_known(conn, job, batch)


def _check_known(conn: Connection, job: uuid.UUID, batch: list[bytes]) -> None:
    ids = [identity for location in batch if (identity := _id_of(location)) is not None]
    known = set(map(bytes, VERIFY.verify_known_locations(conn, job=job, items=ids)))
    for location in batch:
        if location not in known:
            _add(conn, "extra file on the filer", "file", [display_name(location)], "none", "a file without an item")


def _id_of(location: bytes) -> uuid.UUID | None:
    """Files are named by their item's id (core.places)."""
    try:
        return uuid.UUID(os.path.basename(location).decode("ascii"))
    except ValueError:
        return None


def _written(storage: Storage, prefix: bytes, location: bytes) -> Iterator[bytes]:
    try:
        listing = storage.listing(os.path.join(prefix, location))
    except SourceFileError:
        return  # a job without extracted children has no such directory
    with listing:
        for entry in chain.from_iterable(listing):
            below = location + b"/" + entry.name
            if entry.kind is EntryKind.DIRECTORY:
                yield from _written(storage, prefix, below)
            else:
                yield below


def _add(conn: Connection, what: str, kind: str, path: list[str], expected: str, found: str) -> None:
    VERIFY.add_difference(conn, what=what, kind=kind, path=path, expected=expected, found=found)
