"""Joins a finished job with its manifest: missing, extra and wrong items in the database, the index and on the
filer."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from pyarrow import Table
from pydantic import Field, computed_field

from controller.databases import JobHandle
from controller.jobs.source import find_manifest
from controller.search.opened import opened_shards
from core.document import Document
from core.errors import SourceFileError, UsageError
from core.imported import read_imported
from core.names import display_name
from core.places import item_id, items_location
from core.settings import Settings
from core.storage.layer import EntryKind, Storage
from core.texts import many
from dataset_gen.truth import manifest as m
from dataset_gen.truth.manifest import read_manifest
from readers.records import Kind
from search.engine import IndexReader
from sql.connection import Connection
from sql.custody import VERIFY, Count, Example, run_check
from sql.figures import FIGURES

Progress = Callable[[str], None]
_AGAINST_TRUTH = ["missing", "extra", "fields", "exceptions", "containers", "duplicates"]
_WITHIN = ["children", "relations", "texts"]


class Verification(Document):
    """The outcome of verifying a job, as printed by `edbench verify -o json`. `manifest` is None if only the job's own
    promises were checked."""

    job_id: str
    manifest: Path | None
    manifest_items: int
    items: int
    records: int  # of a load file that was imported into the source, of this job's custodians
    terms: int
    documents: int  # in all shards
    ghosts: int = Field(
        description="Documents that no item owns: a task published them, lost its claim (an outage of the database, or a "
        "killed worker) and was repeated. No search returns them; they are not differences."
    )
    files: int  # written children on the filer
    counts: Annotated[tuple[Count, ...], Field(exclude=True)]
    examples: tuple[Example, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def differences(self) -> int:
        """The number of differences; 0: nothing is missing, extra or wrong."""
        return sum(count.items for count in self.counts)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def missing(self) -> int:
        return self.of("missing")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def extra(self) -> int:
        return self.of("extra")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def wrong(self) -> int:
        return self.differences - self.missing - self.extra

    @computed_field  # type: ignore[prop-decorator]
    @property
    def by_kind(self) -> dict[str, dict[str, int]]:
        """Differences of each sort by the kind of item."""
        sorts = {count.what for count in self.counts}
        return {what: {count.kind: count.items for count in self.counts if count.what == what} for what in sorts}

    def of(self, what: str) -> int:
        """Return the differences of one sort, over all kinds."""
        return sum(count.items for count in self.counts if count.what == what)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a manifest, complete in themselves: their parents, families and duplicate groups are among them."""

    table: Table
    terms_elsewhere: tuple[str, ...] = ()  # planted in other rows: searching them here finds nothing


def choose_manifest(source: bytes, given: Path | None, *, internal: bool) -> Path | None:
    """Return the manifest to verify with: the given one, the one next to the source, or none if `internal` is set.
    Raises UsageError if there is none and `internal` is not set."""
    if internal and given is not None:
        raise UsageError("--internal and --manifest exclude each other; give one")
    if internal or given is not None:
        return given
    manifest = find_manifest(source)
    if manifest is None:
        raise UsageError(
            f"there is no manifest next to {display_name(source)}; give one with --manifest, or use --internal to "
            "check only the job's own consistency"
        )
    return manifest


def verify_job(
    handle: JobHandle,
    settings: Settings,
    storage: Storage,
    manifest: Path | None,
    *,
    examples: int = 10,
    progress: Progress,
    part: Part | None = None,
) -> Verification:
    """Check everything that can be checked, with up to `examples` differences of each sort.

    `part`: the rows of the manifest that this job must have, if not all. Raises UsageError if the job has not completed
    or the file is not a manifest, RunFailed if a shard is missing, StorageFault, DatabaseFault."""
    if not handle.job.state.completed:
        raise UsageError(f"job {handle.id} is {handle.job.state}; only a completed job can be verified")
    if part is None and manifest is not None:
        part = Part(read_manifest(manifest))
    with handle.database.transaction() as conn, opened_shards(handle, settings) as readers:
        VERIFY.verify_tables(conn)
        terms: list[str] = []
        if part is not None:
            progress("joining the manifest with the database")
            terms = _against_truth(conn, handle, part)
        progress("checking the job's own consistency")
        for check in _WITHIN:
            run_check(conn, check, handle.id)
        records = _against_import(conn, handle)
        progress(f"reading {len(readers)} index shards")
        readers = undamaged(conn, readers)
        documents = load_documents(conn, readers)
        ghosts = check_documents(conn, handle.id)
        progress(f"searching {len(terms):,} planted terms")
        check_terms(conn, terms, readers)
        progress("checking the files on the filer")
        files = check_files(conn, handle.id, storage, settings.storage)
        return Verification(
            job_id=str(handle.id),
            manifest=manifest,
            manifest_items=part.table.num_rows if part is not None else 0,
            items=FIGURES.count_items(conn, job=handle.id).items,
            records=records,
            terms=len(terms),
            documents=documents,
            ghosts=ghosts,
            files=files,
            counts=tuple(VERIFY.count_differences(conn)),
            examples=tuple(VERIFY.example_differences(conn, limit=examples)),
        )


def _against_truth(conn: Connection, handle: JobHandle, part: Part) -> list[str]:
    terms = load_manifest(conn, handle.id, part.table)
    terms += sorted(set(part.terms_elsewhere) - set(terms))
    for check in _AGAINST_TRUTH:
        run_check(conn, check, handle.id)
    return terms


def _against_import(conn: Connection, handle: JobHandle) -> int:
    """Return how many records of a load file should be loose files; a custodian with another number is a difference."""
    imported = read_imported(Path(os.fsdecode(handle.job.source))) if handle.job.options.load_file else None
    if imported is None:
        return 0
    records = 0
    for custodian, found in VERIFY.verify_loose(conn, job=handle.id):
        wanted = imported.custodians.get(custodian, 0)
        records += wanted
        if found != wanted:
            what, expected = ("missing" if found < wanted else "extra"), f"{many(wanted, 'record')} of the load file"
            texts = {"expected": expected, "found": many(found, "loose file")}
            VERIFY.add_difference(conn, what=what, kind=Kind.LOOSE_FILE, path=[custodian], **texts)
    return records


_FILES_ROWS_AT_ONCE = 2_000
_FIRST = uuid.UUID(int=0)


def check_files(conn: Connection, job: uuid.UUID, storage: Storage, root: Path) -> int:
    """Check that every written child is on the filer with its size, and nothing else; return the number of files.
    Raises StorageFault if the filer fails."""
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
    """Return the item's id, by which its file is named (core.places); None for another name."""
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
_AS_THERE = (  # columns of `truth` that are those of the manifest
    *(m.CUSTODIAN, m.CONTAINER_PATH, m.NAME, m.ORDINAL, m.KIND, m.CONTAINER, m.MEDIA_TYPE, m.BYTES, m.SHA256, m.DEPTH),
    *(m.PAGES, m.DUPLICATE_GROUP, m.ANNOUNCED, m.FAILED),
)
_TRUTH = ("row", "id", "parent", "family", "exceptions", "states", *_AS_THERE)
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def copy_rows(conn: Connection, table: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> int:
    """COPY rows into a temporary table; return their number. Values as `cell` takes them."""
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    driver = conn.raw
    lines = ("\t".join(map(cell, row)) + "\n" for row in rows)
    count = 0
    with driver.cursor() as cursor:
        while chunk := list(islice(lines, _ROWS_AT_ONCE)):
            cursor.copy_expert(statement, io.StringIO("".join(chunk)))
            count += len(chunk)
    return count


def cell(value: Any) -> str:
    """Format one value in COPY's text format: None, bool, numbers, text, bytes, uuids and lists of text."""
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
    """Fill `truth` and `term`; return the planted terms by number."""
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
    """Yield manifest rows in the order of _TRUTH. An item's id follows from its parent's, whose row comes before it."""
    ids: list[uuid.UUID] = []
    for number, row in enumerate(m.iterate(table.drop_columns([m.TERMS, m.FAULT, m.CONTENT]))):
        parent = row[m.PARENT]
        ids.append(item_id(job, ids[parent] if parent >= 0 else None, row[m.ORDINAL]))
        yield (
            *(number, ids[number], parent if parent >= 0 else None, row[m.FAMILY] if row[m.FAMILY] >= 0 else None),
            *(sorted(set(row[m.EXCEPTIONS] or ())), row[m.TEXT_STATES], *(row[name] for name in _AS_THERE)),
        )


_FIRST_LIMIT = 100


def undamaged(conn: Connection, readers: Mapping[uuid.UUID, IndexReader]) -> dict[uuid.UUID, IndexReader]:
    """Return the shards that can be read; a file with other bytes than were written is a difference."""
    sound = {}
    for shard, reader in readers.items():
        if not (damaged := reader.damaged()):
            sound[shard] = reader
        for name in damaged:
            _add(conn, "damaged index file", "file", [shard.hex, name], "its checksum", "another")
    return sound


def load_documents(conn: Connection, readers: Mapping[uuid.UUID, IndexReader]) -> int:
    """Fill `held` with every document of every shard; return their number."""
    rows = ((shard, item, owner) for shard, reader in readers.items() for item, owner in reader.owners())
    count = copy_rows(conn, "held", ("shard", "item", "owner"), rows)
    conn.execute("ANALYZE held")
    return count


def check_documents(conn: Connection, job: uuid.UUID) -> int:
    """Check each item's index document; return the number of ghosts."""
    VERIFY.verify_owners(conn, job=job)
    return VERIFY.verify_ghosts(conn)


def check_terms(conn: Connection, terms: Sequence[str], readers: Mapping[uuid.UUID, IndexReader]) -> None:
    """Search every planted term in every shard."""
    copy_rows(conn, "hit", ("number", "shard", "item", "owner"), _hits(terms, readers))
    conn.execute("ANALYZE hit")
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
    """Return the query that finds a term exactly as written."""
    return '"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"'
