"""What a search found, counted by media type and custodian."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.browse.shards import opened_shards
from controller.databases import JobHandle
from core.settings import Settings
from sql.faces.browse import BROWSE

FACET_HITS = 10_000  # a shard; each has to be fetched to know whose it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """Items that match. Where a shard has more than FACET_HITS documents, all counts are over the best of it."""

    items: int
    complete: bool
    types: tuple[tuple[str, int], ...]  # most frequent first
    custodians: tuple[tuple[str, int], ...]


def count_facets(handles: Sequence[JobHandle], settings: Settings, query: str, most: int = FACET_HITS) -> Facets:
    """Items of these jobs that match, counted. Raises UsageError for a query that cannot be read, RunFailed, faults."""
    types: Counter[str] = Counter()
    custodians: Counter[str] = Counter()
    complete = True
    for handle in handles:
        with opened_shards(handle, settings) as readers, handle.database.transaction() as conn:
            for shard, reader in readers.items():
                hits = reader.search(query, most, snippets=False)
                complete = complete and len(hits) < most
                rows = BROWSE.search_facets(
                    conn,
                    job=handle.id,
                    items=[hit.item for hit in hits],
                    shards=[shard] * len(hits),
                    owners=[hit.owner for hit in hits],
                )
                for row in rows:
                    types[row.type] += row.items
                    custodians[row.custodian] += row.items
    return Facets(items=types.total(), complete=complete, types=_sorted(types), custodians=_sorted(custodians))


def _sorted(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
