"""The manifest in temporary tables of the verifying transaction (`sql/queries/verify.sql`)."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pyarrow import Table
from sqlalchemy import Connection

from core.errors import SourceFileError
from core.names import display_name
from core.places import item_id, items_location
from core.storage.layer import EntryKind, Storage
from dataset_gen.truth import manifest as m
from search.engine import IndexReader
from sql.faces.custody import VERIFY

_FILES_ROWS_AT_ONCE = 2_000
_FIRST = uuid.UUID(int=0)


def check_files(conn: Connection, job: uuid.UUID, storage: Storage, root: Path) -> int:
    """Every written child is there with its size, and nothing else is; how many files were looked at.

    Raises StorageFault when the filer fails.
    """
    prefix = os.fsencode(root)
    storage.keep_below(prefix, own=True)
    count, after = 0, _FIRST
    while rows := VERIFY.verify_files(conn, job=job, after=after, limit=_FILES_ROWS_AT_ONCE):
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
        if len(batch) >= _FILES_ROWS_AT_ONCE:
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


_FIRST_LIMIT = 100


def load_documents(conn: Connection, readers: Mapping[uuid.UUID, IndexReader]) -> int:
    """Fill `held` with every document of every shard; how many there are."""
    rows = ((shard, item, owner) for shard, reader in readers.items() for item, owner in reader.owners())
    count = copy_rows(conn, "held", ("shard", "item", "owner"), rows)
    conn.exec_driver_sql("ANALYZE held")
    return count


def check_documents(conn: Connection, job: uuid.UUID) -> int:
    """Each item's index document; returns the number of ghosts."""
    VERIFY.verify_owners(conn, job=job)
    return VERIFY.verify_ghosts(conn)


def check_terms(conn: Connection, terms: Sequence[str], readers: Mapping[uuid.UUID, IndexReader]) -> None:
    """Search every planted term in every shard."""
    copy_rows(conn, "hit", ("number", "shard", "item", "owner"), _hits(terms, readers))
    conn.exec_driver_sql("ANALYZE hit")
    VERIFY.verify_terms(conn, terms=list(terms))


def _hits(
    terms: Sequence[str], readers: Mapping[uuid.UUID, IndexReader]
) -> Iterator[tuple[int, uuid.UUID, uuid.UUID, str]]:
    for number, term in enumerate(terms):
        query = as_phrase(term)
        for shard, reader in readers.items():
            limit = _FIRST_LIMIT
            while len(hits := reader.search(query, limit, snippets=False)) == limit:
                limit *= 10
            for hit in hits:
                yield number, shard, hit.item, hit.owner


def as_phrase(term: str) -> str:
    """The query that finds a term exactly as written."""
    return '"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"'
