"""Joins a finished job with its manifest: what is missing, extra or wrong, in the database, the index and on the filer."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pyarrow import Table
from pydantic import Field, computed_field
from sqlalchemy import Connection

from controller.databases import JobHandle
from controller.jobs.source import find_manifest
from controller.search.opened import opened_shards
from controller.verify.tables import check_documents, check_files, check_terms, load_documents, load_manifest
from core.document import Document
from core.errors import UsageError
from core.imported import read_imported
from core.names import display_name
from core.settings import Settings
from core.storage.layer import Storage
from dataset_gen.truth.manifest import read_manifest
from readers.records import Kind
from sql.faces.custody import VERIFY, run_check
from sql.faces.figures import FIGURES

Progress = Callable[[str], None]
_AGAINST_TRUTH = ["missing", "extra", "fields", "exceptions", "containers", "duplicates"]
_WITHIN = ["children", "relations", "texts"]


@dataclass(frozen=True, slots=True)
class Count:
    """Differences of one sort in items of one kind."""

    what: str
    kind: str
    items: int


@dataclass(frozen=True, slots=True)
class Example:
    """One difference."""

    what: str
    kind: str
    container_path: tuple[str, ...]
    expected: str
    found: str


class Verification(Document):
    """What came of it, as `edbench verify -o json` has it. `manifest` is None when only the job's own promises were
    checked."""

    job_id: str
    manifest: Path | None
    manifest_items: int
    items: int
    records: int  # of a load file that was taken into the source, of this job's custodians
    terms: int
    documents: int  # in all shards
    ghosts: int = Field(
        description="Of the documents, those that no item owns: a task had published them, its claim was lost (by an outage of the"
        " database, or a killed worker), and the task was done again. No search returns them; they are no difference."
    )
    files: int  # written children on the filer
    counts: Annotated[tuple[Count, ...], Field(exclude=True)]
    examples: tuple[Example, ...]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def differences(self) -> int:
        """0: nothing is missing, extra or wrong."""
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
        """Differences of one sort, over all kinds."""
        return sum(count.items for count in self.counts if count.what == what)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a manifest, complete in themselves (parents, families and duplicate groups are among them)."""

    table: Table
    terms_elsewhere: tuple[str, ...] = ()  # planted in other rows: searching them here finds nothing


def choose_manifest(source: bytes, given: Path | None, *, internal: bool) -> Path | None:
    """The manifest to verify with: the given one, the one next to the source, or none where `internal` is set.

    Raises UsageError when there is none and the check was not to be of the job's own promises alone.
    """
    if internal and given is not None:
        raise UsageError("--internal and --manifest exclude each other; give one")
    if internal or given is not None:
        return given
    manifest = find_manifest(source)
    if manifest is None:
        raise UsageError(
            f"there is no manifest next to {display_name(source)}; give one with --manifest,"
            " or use --internal to check only the job's own promises"
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

    `part`: the rows of the manifest that this job has to hold, where it is not all of them. Raises UsageError when the job has not completed or the manifest is none, RunFailed when a shard is not there,
    StorageFault, DatabaseFault.
    """
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
        progress("checking the job's own promises")
        for check in _WITHIN:
            run_check(conn, check, handle.id)
        records = _against_import(conn, handle)
        progress(f"reading {len(readers)} index shards")
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
            counts=_counts(conn),
            examples=_examples(conn, examples),
        )


def _against_truth(conn: Connection, handle: JobHandle, part: Part) -> list[str]:
    terms = load_manifest(conn, handle.id, part.table)
    terms += sorted(set(part.terms_elsewhere) - set(terms))
    for check in _AGAINST_TRUTH:
        run_check(conn, check, handle.id)
    return terms


def _against_import(conn: Connection, handle: JobHandle) -> int:
    """How many records of a load file should be loose files; a custodian that has others is a difference."""
    imported = read_imported(Path(os.fsdecode(handle.job.source))) if handle.job.options.load_file else None
    if imported is None:
        return 0
    records = 0
    for custodian, found in VERIFY.verify_loose(conn, job=handle.id):
        wanted = imported.custodians.get(custodian, 0)
        records += wanted
        if found != wanted:
            what, expected = ("missing" if found < wanted else "extra"), f"{wanted:,} records of the load file"
            told = {"expected": expected, "found": f"{found:,} loose files"}
            VERIFY.add_difference(conn, what=what, kind=Kind.LOOSE_FILE, path=[custodian], **told)
    return records


def _counts(conn: Connection) -> tuple[Count, ...]:
    return tuple(Count(row.what, row.kind, row.items) for row in VERIFY.count_differences(conn))


def _examples(conn: Connection, limit: int) -> tuple[Example, ...]:
    return tuple(
        Example(row.what, row.kind, tuple(row.container_path), row.expected or "", row.found or "")
        for row in VERIFY.example_differences(conn, limit=limit)
    )
