"""Joins the jobs of a group with the manifest: each job with all of it, or the jobs of a shard together with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pyarrow import Table
from pydantic import Field

from controller.custody import note
from controller.databases import JobHandle, Jobs
from controller.jobs.source import find_manifest
from controller.verify.job import Part, Progress, Verification, choose_manifest, verify_job
from core.document import Document
from core.errors import UsageError
from core.job_types import types_of
from core.names import display_name
from core.records import GroupKind
from core.settings import Settings
from core.storage.layer import Storage
from dataset_gen.truth import manifest as m
from sql.custody import Count, Example
from sql.jobs import JOBS


class MemberVerified(Verification):
    """One job of a group."""

    database: str


class GroupVerified(Document):
    """The outcome of verifying a group, as printed by `edbench verify -o json`: sums with the keys of a job's, and the
    jobs."""

    job_id: str
    group_id: str
    kind: GroupKind
    manifest_items: int
    items: int
    terms: int
    documents: int
    ghosts: int
    files: int
    missing: int
    extra: int
    wrong: int
    doubled: int
    differences: int = Field(description="0: no job has any, and the jobs together have everything once.")
    jobs: list[MemberVerified]
    counts: Annotated[tuple[Count, ...], Field(exclude=True)]  # rows of the manifest in no job, or in several
    examples: Annotated[tuple[Example, ...], Field(exclude=True)]  # of these


def verify_group(
    jobs: Jobs, settings: Settings, storage: Storage, manifest: Path | None, *, examples: int, progress: Progress
) -> GroupVerified:
    """Verify every job of a group.

    Simultaneous jobs are each joined with the whole manifest; the jobs of a shard each with the rows of their
    custodians, and then every row must belong to exactly one of them. Raises as `verify_job`."""
    group = jobs.group
    assert group is not None
    parts: list[Part | None] = [None] * len(jobs.each)
    counts: tuple[Count, ...] = ()
    shown: tuple[Example, ...] = ()
    if group.kind is GroupKind.SHARDED and manifest is not None:
        table = m.read_manifest(manifest)
        shares = [_custodians(handle) for handle in jobs.each]
        parts = [_part(table, share) for share in shares]
        counts, shown = _uncovered(table, shares, examples)
    verified = []
    for handle, part in zip(jobs.each, parts, strict=True):
        progress(f"database {handle.database.name}")
        one = verify_job(handle, settings, storage, manifest, examples=examples, progress=progress, part=part)
        verified.append(MemberVerified(**vars(one), database=handle.database.name))
    return joined(str(group.id), group.kind, verified, counts, shown)


def joined(
    group_id: str, kind: GroupKind, jobs: list[MemberVerified], counts: tuple[Count, ...], examples: tuple[Example, ...]
) -> GroupVerified:
    """Return the outcome for a group of those of its jobs and the `counts` of the group as a whole."""
    keys = (
        "manifest_items",
        "items",
        "terms",
        "documents",
        "ghosts",
        "files",
        "missing",
        "extra",
        "wrong",
        "differences",
    )
    sums = {key: sum(getattr(verified, key) for verified in jobs) for key in keys}
    absent, doubled = (sum(count.items for count in counts if count.what == what) for what in ("missing", "doubled"))
    sums["missing"] += absent
    sums["extra"] += doubled
    sums["differences"] += absent + doubled
    return GroupVerified(
        job_id=group_id,
        group_id=group_id,
        kind=kind,
        **sums,
        doubled=doubled,
        jobs=jobs,
        counts=counts,
        examples=examples,
    )


def _custodians(handle: JobHandle) -> set[str]:
    return {display_name(custodian.name) for custodian in handle.database.ask(JOBS.custodians, job=handle.id)}


def _part(table: Table, custodians: set[str]) -> Part:
    """Return the rows of these custodians as a manifest of their own, with references to rows recomputed."""
    owners = table[m.CUSTODIAN].to_pylist()
    kept = [row for row, owner in enumerate(owners) if owner in custodians]
    new = {old: row for row, old in enumerate(kept)}
    part = table.take(pa.array(kept, pa.int64()))
    terms = table[m.TERMS].to_pylist()
    elsewhere = {term for row, owner in enumerate(owners) if owner not in custodians for term in terms[row] or ()}
    for name in (m.PARENT, m.FAMILY):
        part = _replaced(part, name, [-1 if row is None or row < 0 else new[row] for row in part[name].to_pylist()])
    groups = part[m.DUPLICATE_GROUP].to_pylist()
    sizes = Counter(groups)
    first: dict[int, int] = {}
    for row, group in enumerate(groups):
        if group is not None:
            first.setdefault(group, row)
    alone = [None if group is None or sizes[group] == 1 else first[group] for group in groups]
    part = _replaced(part, m.DUPLICATE_GROUP, alone)
    return Part(part, tuple(elsewhere))


def _replaced(table: Table, name: str, values: list[int | None]) -> Table:
    number = table.schema.get_field_index(name)
    return table.set_column(number, table.schema.field(number), pa.array(values, table.schema.field(number).type))


def _uncovered(table: Table, shares: list[set[str]], limit: int) -> tuple[tuple[Count, ...], tuple[Example, ...]]:
    """Return rows whose custodian no job has, and rows whose custodian several jobs have."""
    given = Counter(name for share in shares for name in share)
    counted: Counter[tuple[str, str]] = Counter()
    shown: Counter[str] = Counter()
    examples: list[Example] = []
    columns = (table[name].to_pylist() for name in (m.CUSTODIAN, m.KIND, m.CONTAINER_PATH))
    for custodian, kind, path in zip(*columns, strict=True):
        jobs = given[custodian]
        if jobs == 1:
            continue
        what = "doubled" if jobs else "missing"
        counted[what, kind] += 1
        shown[what] += 1
        if shown[what] <= limit:
            examples.append(Example(what, kind, tuple(path), "in one job", f"in {jobs} jobs"))
    counts = tuple(Count(what, kind, items) for (what, kind), items in sorted(counted.items()))
    return counts, tuple(examples)


def _quiet(_line: str) -> None:
    """Report no progress."""


def verification(
    jobs: Jobs,
    settings: Settings,
    given: Path | None,
    *,
    internal: bool | None,
    examples: int,
    progress: Progress = _quiet,
) -> Callable[[], Any]:
    """Return the function that verifies these jobs: that of their job type, else one with a manifest, the `given` one
    or that of the source.

    `internal`: without a manifest; None: if there is none. Raises UsageError."""
    filer = Storage()
    if jobs.each and (options := jobs.each[0].job.options).type.produces:
        if given is not None:
            raise UsageError(
                f"--manifest: job {jobs.id} is of type {options.type}, which has load files and no manifest"
            )
        verify = types_of(options.of_type).verify
        return partial(verify, jobs.each[0], filer, examples=examples, progress=progress)
    if internal is None:
        internal = find_manifest(jobs.source) is None
    chosen = choose_manifest(jobs.source, given, internal=internal)
    if jobs.group is not None:
        return partial(verify_group, jobs, settings, filer, chosen, examples=examples, progress=progress)
    return partial(verify_job, jobs.each[0], settings, filer, chosen, examples=examples, progress=progress)


VERIFIED = "verified"
_COUNTS = ("differences", "missing", "extra", "wrong", "pages_wrong", "load_file_faults", "items", "files", "manifest")


def note_verified(handles: Sequence[JobHandle], outcome: Document) -> None:
    """Record the verification with each of the jobs, with the counts that it has. Raises DatabaseFault."""
    each: Sequence[Document] = outcome.jobs if isinstance(outcome, GroupVerified) else [outcome]
    for handle, one in zip(handles, each, strict=True):
        document = one.to_json()
        with handle.database.transaction(durable=True) as conn:
            note(conn, handle.id, VERIFIED, **{name: document[name] for name in _COUNTS if name in document})
