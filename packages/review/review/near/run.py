"""Finds items of finished jobs whose texts are nearly the same, and stores the principal of each group
(docs/review.md).

There is one transaction for each database; after a kill the rows are the old or the new ones. They follow from the
texts and their paths, whatever the order of shards, databases or workers."""

from __future__ import annotations

import uuid
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from controller.databases import Jobs
from controller.findings import ReviewKind
from controller.search.items import streaming
from core.document import Document
from core.errors import UsageError
from core.settings import Settings
from review.kinds import LOWEST, Scope
from review.looked_at import LookedAt, Site, looked_at, note, transactions
from review.near.bands import bands_for
from review.near.collected import Collected, Numbers, collecting
from review.near.grouping import NO_GROUP, Grouped, grouped
from review.near.shingles import LEAST, shingles
from review.report import Report
from review.statements import REVIEW, NearRow
from review.texts import texts_of

_ROWS_AT_ONCE = 10_000
_CUSTODIANS = 1 << 32


class NearDuplicates(Document):
    """The outcome of a search for near-duplicates, over all of its jobs."""

    jobs: tuple[str, ...]
    scope: Scope
    threshold: Annotated[
        float, Field(description="Least similarity: shingles that two texts share ÷ shingles that either has.")
    ]
    items: Annotated[int, Field(description="All items except containers.")]
    compared: Annotated[int, Field(description="Items whose text was compared.")]
    short: Annotated[int, Field(description=f"Items of fewer than {LEAST} words, which were not compared.")]
    without_text: int
    pairs: Annotated[int, Field(description="Pairs of texts that were compared word by word.")]
    groups: Annotated[int, Field(description="Groups of two or more items; each has one principal.")]
    near: Annotated[int, Field(description="Items in a group that are not its principal.")]
    same_text: Annotated[int, Field(description="Of these, items with the same shingles as their principal.")]
    near_bytes: int


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The items of all jobs in the order that chooses principals."""

    ids: npt.NDArray[np.bytes_]
    sorted_at: Numbers
    scopes: Numbers
    jobs: npt.NDArray[np.int32]  # places

    def rank(self, item: uuid.UUID) -> int | None:
        """Return the rank of an item; None for a container."""
        wanted = np.array(item.bytes, dtype="S16")
        at = int(np.searchsorted(self.ids, wanted, sorter=self.sorted_at))
        rank = int(self.sorted_at[at]) if at < len(self.ids) else NO_GROUP
        return rank if rank != NO_GROUP and self.ids[rank] == wanted else None

    def item(self, rank: int) -> uuid.UUID:
        """Return the id of the item with this rank."""
        return uuid.UUID(bytes=bytes(self.ids[rank]).ljust(16, b"\0"))  # numpy strips zeros at the end


NEAR_DUPLICATES = Report(
    ReviewKind.NEAR, NearDuplicates, NearRow._fields, lambda conn, job, _: REVIEW.near_duplicates(conn, job=job)
)


def near(references: Sequence[Jobs], scope: Scope, threshold: float, settings: Settings) -> NearDuplicates:
    """Find near-duplicates in these jobs, and replace earlier findings. Raises UsageError, RunFailed if a shard is not
    on the storage root, StorageFault, DatabaseFault."""
    if not LOWEST <= threshold <= 1:
        raise UsageError(
            f"the threshold is {threshold:g}; it must be from {LOWEST} (half is shared) to 1 (all is shared)"
        )
    jobs = looked_at(references)
    with transactions(jobs) as sites, collecting(settings.scratch, bands_for(threshold)) as texts:
        ranked = _ranked(jobs, scope)
        read, short = _collect(jobs, ranked, texts, settings)
        found = grouped(texts, threshold)
        _store(sites, ranked, texts, found)
        members = found.principal != NO_GROUP
        others = members & (found.principal != np.arange(len(texts)))
        outcome = NearDuplicates(
            jobs=tuple(str(job.handle.id) for job in jobs),
            scope=scope,
            threshold=threshold,
            items=len(ranked.ids),
            compared=len(texts),
            short=short,
            without_text=len(ranked.ids) - read,
            pairs=found.compared,
            groups=len(np.unique(found.principal[members])),
            near=int(others.sum()),
            same_text=int((others & (found.similarity == 1)).sum()),
            near_bytes=sum(REVIEW.near_bytes(site.conn, job=job) for site in sites for job in site.ids),
        )
        note(sites, ReviewKind.NEAR, {"scope": scope.value, "threshold": threshold}, outcome.to_json())
    return outcome


def _ranked(jobs: Sequence[LookedAt], scope: Scope) -> _Ranked:
    ids, scopes, places = bytearray(), array("q"), []
    for job in jobs:
        before = len(ids)
        with job.handle.database.transaction() as conn:  # its own: streamed rows occupy the connection
            for row in REVIEW.near_items(streaming(conn), job=job.handle.id):
                ids += bytes(row.item)
                custodian = job.place * _CUSTODIANS + row.custodian
                scopes.append({Scope.JOB: job.unit, Scope.CUSTODIAN: custodian, Scope.JOBS: 0}[scope])
        places.append(np.full((len(ids) - before) // 16, job.place, np.int32))
    known = np.frombuffer(bytes(ids), dtype="S16")
    return _Ranked(known, np.argsort(known, kind="stable"), np.array(scopes, dtype=np.int64), np.concatenate(places))


def _collect(jobs: Sequence[LookedAt], ranked: _Ranked, texts: Collected, settings: Settings) -> tuple[int, int]:
    """Add the texts to the collection; return the number of items with a text, and of those with too few words."""
    read = short = 0
    for job in jobs:
        for item, text in texts_of(job.handle, settings):
            rank = ranked.rank(item) if text and not text.isspace() else None
            if rank is None:
                continue
            read += 1
            found = shingles(text)
            if len(found):
                texts.add(rank, int(ranked.scopes[rank]), found)
            else:
                short += 1
    return read, short


def _store(sites: Sequence[Site], ranked: _Ranked, texts: Collected, found: Grouped) -> None:
    for site in sites:
        for handle in site.ids:
            REVIEW.clear_near(site.conn, job=handle)
    ranks = texts.ranks
    sizes = Counter(found.principal[found.principal != NO_GROUP].tolist())
    handles = {job.place: (site, job.handle.id) for site in sites for job in site.jobs}
    rows: dict[int, list[int]] = {place: [] for place in handles}
    for text in np.flatnonzero(found.principal != NO_GROUP).tolist():
        rows[int(ranked.jobs[ranks[text]])].append(text)
    for place, mine in rows.items():
        site, job = handles[place]
        for start in range(0, len(mine), _ROWS_AT_ONCE):
            some = mine[start : start + _ROWS_AT_ONCE]
            principals = [int(found.principal[text]) for text in some]
            REVIEW.put_near(
                site.conn,
                job=job,
                items=[ranked.item(int(ranks[text])) for text in some],
                principals=[ranked.item(int(ranks[text])) for text in principals],
                principal_jobs=[handles[int(ranked.jobs[ranks[text]])][1] for text in principals],
                similarities=[float(found.similarity[text]) for text in some],
                members=[sizes[own] - 1 if own == text else None for text, own in zip(some, principals, strict=True)],
            )
