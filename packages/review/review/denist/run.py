"""Flags the items of finished jobs whose hash is on lists of known software files (docs/review.md).

Items are taken some millions at a time, and each time the lists are read once from beginning to end: memory grows
neither with the lists nor with the job. The flags of a job are replaced in one transaction."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from controller.databases import JobHandle, Jobs
from controller.findings import ReviewKind
from core.document import Document
from core.errors import UsageError
from core.names import display_name
from review.carry import fixed_rows, put_flags
from review.denist.digests import read_digests
from review.denist.lists import Digests, DigestSet, HashKind, HashList, hash_list
from review.looked_at import Site, looked_at, note, transactions
from review.report import Report
from review.statements import REVIEW, SystemFile

ITEMS_AT_ONCE = 4_000_000  # some 100 bytes each
MOST_LISTS = 1_000


class ListUsed(Document):
    """A list, and the number of items that it flagged."""

    name: str
    kind: Annotated[str, Field(description="sha256, sha1 or md5.")]
    sha256: Annotated[
        str, Field(description="Of the list file; empty for lists of versions that did not record it.")
    ] = ""
    hashes: int
    bad: Annotated[int, Field(description="Lines that are not a hash of that kind.")]
    first_bad: Annotated[int, Field(description="Number of the first such line, from 1; 0: none.")]
    items: Annotated[int, Field(description="Items that this list flags and no list before it.")]
    bytes: int


class SystemFiles(Document):
    """The outcome of a DeNIST, over all of its jobs."""

    jobs: tuple[str, ...]
    items: int
    system: Annotated[int, Field(description="Items that are flagged.")]
    system_bytes: int
    unknown: Annotated[int, Field(description="Items without a hash, because their bytes could not be read.")]
    lists: tuple[ListUsed, ...]


SYSTEM_FILES = Report(
    ReviewKind.DENIST,
    SystemFiles,
    SystemFile._fields,
    lambda conn, job, found: REVIEW.system_files(conn, job=job, names=[one.name for one in found.lists]),
)


def denist(references: Sequence[Jobs], paths: Sequence[Path]) -> SystemFiles:
    """Flag the system files of these jobs, and replace earlier flags.
    For lists without SHA-256 the items' bytes are read again, once. Raises UsageError, StorageFault, DatabaseFault."""
    if not 0 < len(paths) <= MOST_LISTS:
        raise UsageError(f"{len(paths)} lists; give 1 to {MOST_LISTS}")
    lists = [hash_list(path) for path in paths]
    jobs = looked_at(references)
    again = any(one.kind is not HashKind.SHA256 for one in lists)
    for job in jobs if again else ():
        read_digests(job.handle)
    with transactions(jobs) as sites:
        for site in sites:
            _flag(site, lists)
        outcome = _counted(sites, lists, again)
        note(sites, ReviewKind.DENIST, {"lists": list(map(_shown, paths))}, outcome.to_json())
    return outcome


def _shown(path: Path | str) -> str:
    """Return a name of any bytes as text for JSON in the ledger."""
    return display_name(os.fsencode(path))


def _flag(site: Site, lists: Sequence[HashList]) -> None:
    for job in site.jobs:
        REVIEW.clear_system_files(site.conn, job=job.handle.id)
        for ids, digests in _portions(site, job.handle, {one.kind for one in lists}):
            first = np.full(len(ids), -1, np.int16)
            sets = {kind: DigestSet(rows) for kind, rows in digests.items()}
            for number, one in enumerate(lists):
                for piece in one.pieces():
                    sets[one.kind].look_up(piece)
                first[sets[one.kind].found() & (first < 0)] = number
            put_flags(site.conn, job.handle.id, ids[first >= 0], first[first >= 0])


def _column(kind: HashKind) -> str:
    """Return the SQL of a digest. An unknown digest is one of zeros, which no set of digests finds."""
    if kind is HashKind.SHA256:
        return "i.sha256"
    return f"coalesce(d.{kind.name.lower()}, decode(repeat('00', {kind.value}), 'hex'))"


def _portions(site: Site, handle: JobHandle, kinds: set[HashKind]) -> Iterator[tuple[Digests, dict[HashKind, Digests]]]:
    """Yield ids and digests of items that have them, in order of their ids; at least one portion, so that lists are
    read."""
    ordered = sorted(kinds, key=lambda kind: kind.value)
    columns = ", ".join(map(_column, ordered))
    joined = "" if kinds == {HashKind.SHA256} else "LEFT JOIN item_digest d ON d.item = i.id AND d.sha256 = i.sha256"
    after = uuid.UUID(int=0)
    while True:
        query = (
            f"SELECT i.id, {columns} FROM item i {joined} WHERE i.job = '{handle.id}' AND i.sha256 IS NOT NULL"
            f" AND i.id > '{after}' ORDER BY i.id LIMIT {ITEMS_AT_ONCE}"
        )
        ids, *digests = fixed_rows(site.conn, query, (16, *(kind.value for kind in ordered)))
        yield ids, dict(zip(ordered, digests, strict=True))
        if len(ids) < ITEMS_AT_ONCE:
            return
        after = uuid.UUID(bytes=ids[-1].tobytes())


def _counted(sites: Sequence[Site], lists: Sequence[HashList], again: bool) -> SystemFiles:
    items, unknown = 0, 0
    flagged: dict[int, tuple[int, int]] = {}
    for site in sites:
        for job in site.jobs:
            totals = REVIEW.count_hashed(site.conn, job=job.handle.id, digests=again)
            items, unknown = items + totals.items, unknown + totals.unknown
            for row in REVIEW.count_system_files(site.conn, job=job.handle.id):
                before = flagged.get(row.number, (0, 0))
                flagged[row.number] = before[0] + row.items, before[1] + row.bytes
    used: list[dict[str, Any]] = []
    for number, one in enumerate(lists):
        of, nbytes = flagged.get(number, (0, 0))
        about = {
            "name": _shown(one.path.name),
            "kind": one.kind.name.lower(),
            "sha256": one.sha256,
            "hashes": one.hashes,
            "bad": one.bad,
        }
        used.append(about | {"first_bad": one.first_bad, "items": of, "bytes": nbytes})
    every = sorted((job for site in sites for job in site.jobs), key=lambda job: job.place)
    return SystemFiles(
        jobs=tuple(str(job.handle.id) for job in every),
        items=items,
        system=sum(count for count, _ in flagged.values()),
        system_bytes=sum(nbytes for _, nbytes in flagged.values()),
        unknown=unknown,
        lists=tuple(map(ListUsed.model_validate, used)),
    )
